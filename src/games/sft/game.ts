/**
 * Supervised fine-tuning as a game with one role: a round is one step on the next `batch_size` sequences of a seeded
 * shuffle, which is drawn anew for every pass. The loss is the mean cross-entropy over the batch's trained tokens.
 */
import { ConfigError, DataError } from '../../core/errors.js'
import { loadConversations } from '../../data/conversations.js'
import type { ChatMessage, FrozenPolicy } from '../../engine/engine.js'
import type { Game, GameContext } from '../game.js'
import { oncePerRun } from '../once.js'
import { takeInPasses } from '../passes.js'
import { type Config, config } from './config.js'
import { type Example, encodeConversation, exampleDatum } from './examples.js'
import { fineTuneStep } from './step.js'

type Context = GameContext<Config>

/** Where the round's position follows from its number, nothing needs to be kept. */
type State = Record<string, never>

interface Dataset {
  train: Example[]
  validation: Example[]
  /** Sequences over `max_tokens`. */
  dropped: number
  /** Of the shuffles. */
  seed: number
}

export const sft: Game<Config, State> = sftOn()

/** SFT on conversations held in memory, or on those of the `data` setting where none are given. */
export function sftOn(conversations?: ChatMessage[][]): Game<Config, State> {
  const dataset = oncePerRun((ctx: Omit<Context, 'round'>) => load(ctx, conversations))
  return {
    name: 'sft',
    summary:
      'Supervised fine-tuning on the assistant turns of conversations: the cold start of the other games.',
    roles: ['student'],
    config,

    async setup(ctx) {
      await dataset(ctx)
      return {}
    },

    async round(ctx, state) {
      const { train, validation, dropped, seed } = await dataset(ctx)
      const { batch_size, epochs, validate_every } = ctx.config
      const first = ctx.round * batch_size
      if (epochs > 0 && first >= epochs * train.length) {
        return { state, report: { metrics: {}, rollouts: [], skipped: 'all epochs are done' } }
      }

      const batch = takeInPasses(train, first, batch_size, seed)
      ctx.phase('student trains')
      const metrics: Record<string, number> = {
        ...(await fineTuneStep(ctx.roles.student!, batch)),
        'data/epoch': (first + batch_size) / train.length,
        'data/dropped': dropped,
      }
      const due = (ctx.round + 1) % validate_every === 0 || ctx.round + 1 === ctx.rounds
      if (validation.length > 0 && due) {
        ctx.phase('validation')
        metrics['student/validation_loss'] = await meanLoss(ctx.roles.student!.policy, validation)
      }
      return { state, report: { metrics, rollouts: [] } }
    },

    demands: ({ batch_size, max_tokens }) => ({
      student: { sampled: [], trained: { sequences: batch_size, tokens: max_tokens, steps: 1 } },
    }),

    files: ({ data }) =>
      data.map((path, i) => ({
        key: `settings.data.${i}`,
        path,
        what: 'JSONL of conversations, {messages: [{role, content}]}',
      })),

    workload: ({ batch_size, max_tokens }) => ({
      trainTokens: batch_size * max_tokens,
      longestSequence: max_tokens,
      sampleRows: 0,
    }),
  }
}

async function load(ctx: Omit<Context, 'round'>, given: ChatMessage[][] | undefined): Promise<Dataset> {
  const { data, max_tokens, validation_share } = ctx.config
  if (!given && data.length === 0) {
    throw new ConfigError('settings.data names no file.', {
      hint: 'List one JSONL file of conversations or more.',
    })
  }
  const conversations =
    given ?? (await Promise.all(data.map((path) => loadConversations(ctx.path(path))))).flat()
  const { tokenizer } = ctx.roles.student!.policy
  ctx.phase('conversations are tokenised')
  const examples = conversations.flatMap((messages) => encodeConversation(tokenizer, messages))
  const fitting = examples.filter(({ tokens }) => tokens.length <= max_tokens)
  const drawn = ctx.random('validation').shuffle(fitting)
  const held = Math.round(validation_share * drawn.length)
  if (held === drawn.length) {
    throw new DataError(`None of ${examples.length} sequences is left to train on.`, {
      hint: 'Raise settings.max_tokens or lower settings.validation_share.',
    })
  }
  return {
    train: drawn.slice(held),
    validation: drawn.slice(0, held),
    dropped: examples.length - fitting.length,
    seed: ctx.random('epochs').int(2 ** 31),
  }
}

/** Mean cross-entropy over the trained tokens, nats. */
async function meanLoss(policy: FrozenPolicy, examples: Example[]): Promise<number> {
  const data = examples.map((example) => exampleDatum(example, 1))
  const logprobs = await policy.logprobs(data)
  let sum = 0
  let tokens = 0
  data.forEach(({ weights }, i) => {
    weights!.forEach((weight, t) => {
      if (weight === 0) return
      sum -= logprobs[i]![t]!
      tokens++
    })
  })
  return sum / tokens
}
