/**
 * The discriminator's fine-tuning before GAR (arXiv 2512.16917, sections 3 and 4.1) as a game with one role. Slices of
 * worked solutions are labelled, both verdicts made equally frequent, and a round is one step on the next of them:
 *
 *     L = -(1/N) sum_t m_t log pi(x_t | x_<t),   m_t = 1 on analysis, verdict and rationale,   N = sum_t m_t
 *
 * Slices of held-out problems are judged now and then; once their verdicts get no better, teaching ends.
 */
import { ConfigError, DataError } from '../../../core/errors.js'
import type { Game, GameContext, RolloutRecord } from '../../game.js'
import { completionFields } from '../../grpo/completion.js'
import { oncePerRun } from '../../once.js'
import { takeInPasses } from '../../passes.js'
import { type Example, encodeConversation } from '../../sft/examples.js'
import { fineTuneStep } from '../../sft/step.js'
import { cutPieces } from '../cut.js'
import { loadSolutions, loadTracedProblems, tracedFiles } from '../data.js'
import { judgeSlices } from '../judge.js'
import type { Judgment } from '../play.js'
import { qualityMetrics } from '../probe.js'
import { discriminatorPrompt } from '../prompts.js'
import type { Reference, Solution } from '../references.js'
import { type Config, config } from './config.js'
import { labelByEndpoint } from './endpoint.js'
import { balance, type LabelledSlice, labelByRule, labelBySource, targetOf } from './labels.js'

type Context = GameContext<Config>
type Setup = Omit<Context, 'round'>

interface State {
  /** Best balanced accuracy so far; -1 before the first. */
  best: number
  /** Measurements since then. */
  since: number
  ended: boolean
}

export const garSft: Game<Config, State> = {
  name: 'gar-sft',
  summary: "Supervised fine-tuning of GAR's discriminator on slices with known verdicts.",
  roles: ['discriminator'],
  config,

  async setup(ctx) {
    checkLabels(ctx.config)
    await slices(ctx)
    return { best: -1, since: 0, ended: false }
  },

  async round(ctx, state) {
    if (state.ended) {
      const skipped = 'held-out verdicts get no better'
      return { state, report: { metrics: {}, rollouts: [], skipped } }
    }
    const { batch_size, validate_every, patience } = ctx.config
    const { train, validation, seed, dropped, found } = await lessons(ctx)
    const batch = takeInPasses(train, ctx.round * batch_size, batch_size, seed)
    ctx.phase('discriminator trains')
    const step = await fineTuneStep(ctx.roles.discriminator!, batch)
    const metrics = {
      ...step,
      'data/epoch': ((ctx.round + 1) * batch_size) / train.length,
      'data/dropped': dropped,
      'labels/yes_frac': found,
    }
    const due = (ctx.round + 1) % validate_every === 0 || ctx.round + 1 === ctx.rounds
    if (!due) return { state, report: { metrics, rollouts: [] } }

    const judgments = await judgeSlices(ctx, validation.map(exhibit), { n: 1, measured: 0 })
    const quality = qualityMetrics(judgments.map(({ source, verdict }) => ({ verdict, sound: source === 1 })))
    const accuracy = quality['judging/balanced_accuracy'] ?? 0
    const better = accuracy > state.best
    const since = better ? 0 : state.since + 1
    return {
      state: { best: better ? accuracy : state.best, since, ended: patience > 0 && since >= patience },
      report: {
        metrics: { ...metrics, ...quality },
        rollouts: judgments.map((judgment) => record(ctx, judgment)),
      },
    }
  },

  demands: ({ batch_size, max_sequence_tokens, validation_slices, validate_every, discriminator }) => ({
    discriminator: {
      sampled: [
        {
          prompts: validation_slices,
          completions: 1,
          promptTokens: discriminator.max_prompt_tokens,
          completionTokens: discriminator.max_tokens,
          every: validate_every,
        },
      ],
      trained: { sequences: batch_size, tokens: max_sequence_tokens, steps: 1 },
    },
  }),

  files: ({ data, labels, others }) => [
    ...tracedFiles(data, 'maths'),
    ...(labels === 'source' && others.path !== ''
      ? [{ key: 'settings.others.path', path: others.path, what: 'worked solutions, JSONL or Parquet' }]
      : []),
  ],

  workload: ({ batch_size, max_sequence_tokens, validation_slices, discriminator }) => ({
    trainTokens: batch_size * max_sequence_tokens,
    longestSequence: Math.max(
      max_sequence_tokens,
      discriminator.max_prompt_tokens + discriminator.max_tokens,
    ),
    sampleRows: validation_slices,
  }),
}

function checkLabels({ labels, endpoint, others }: Config): void {
  if (labels === 'endpoint' && (endpoint.url === '' || endpoint.model === '')) {
    throw new ConfigError('labels: endpoint needs settings.endpoint.url and settings.endpoint.model.', {
      hint: 'Name a service, or let labels: planted make labels by rule.',
    })
  }
  if (labels === 'source' && others.path === '') {
    throw new ConfigError('labels: source needs settings.others.path.', {
      hint: 'Name a file of worked solutions in the other style.',
    })
  }
}

/** Slices of training problems and of held-out ones, and those of the other style. */
interface Slices {
  train: Reference[]
  validation: Reference[]
  others: { train: Reference[]; validation: Reference[] }
  /** Streams and seeds of the setup: what is drawn from them must not hang on the round in which it is drawn. */
  random: Setup['random']
  seed: Setup['seed']
}

const slices = oncePerRun(async (ctx: Setup): Promise<Slices> => {
  const { config, path, random } = ctx
  ctx.phase('solutions are cut')
  const problems = await loadTracedProblems(config.data, 'maths', path, random('rows'))
  const solutions = problems.flatMap(({ problem, traces }) =>
    traces.map((text) => ({ question: problem, text })),
  )
  const other = config.labels === 'source' ? await loadSolutions(path(config.others.path), config.others) : []
  const own = splitAndCut(ctx, solutions)
  return { ...own, others: splitAndCut(ctx, other), random, seed: ctx.seed }
})

/** Held out by problem, so that no slice of a held-out problem is taught. */
function splitAndCut(ctx: Setup, solutions: readonly Solution[]): Pick<Slices, 'train' | 'validation'> {
  const { config, random } = ctx
  const { tokenizer } = ctx.roles.discriminator!.policy
  const count = (text: string) => tokenizer.encode(text).length
  const cut = { slicer: config.slicer, judge: 'slices', partial_slices: 0 } as const
  const pieces = (chosen: readonly Solution[]) =>
    chosen.flatMap(({ question, text }) =>
      cutPieces(text, false, cut, count).map(({ shown, text: slice }) => ({
        question,
        shown,
        from: shown.length - slice.length,
      })),
    )
  const problems = random('validation').shuffle([...new Set(solutions.map(({ question }) => question))])
  const held = new Set(problems.slice(0, Math.ceil(config.validation_share * problems.length)))
  const split = (wanted: boolean) => {
    const drawn = pieces(solutions.filter(({ question }) => held.has(question) === wanted))
    const most = Math.ceil(config.slices * (wanted ? config.validation_share : 1 - config.validation_share))
    const shuffled = random('slices', Number(wanted)).shuffle(drawn)
    return config.slices === 0 ? shuffled : shuffled.slice(0, most)
  }
  return { train: split(false), validation: split(true) }
}

interface Lessons {
  train: Example[]
  validation: LabelledSlice[]
  /** Slices over the limits of tokens. */
  dropped: number
  /** Share of YES among all labels, before they are balanced. */
  found: number
  /** Of the shuffles. */
  seed: number
}

/** Made in the first round: a dry run asks no service for labels. */
const lessons = oncePerRun(async (ctx: Context): Promise<Lessons> => {
  const { config } = ctx
  const cut = await slices(ctx)
  const { random } = cut
  const labelled = { train: await label(ctx, cut, 'train'), validation: await label(ctx, cut, 'validation') }
  const all = [...labelled.train, ...labelled.validation]
  const examples = balance(labelled.train, random('balance')).flatMap((slice) => encode(ctx, slice))
  const train = examples.filter(({ tokens }) => tokens.length <= config.max_sequence_tokens)
  const validation = balance(labelled.validation, random('balance validation')).slice(
    0,
    config.validation_slices,
  )
  if (train.length === 0 || validation.length === 0) {
    throw new DataError(
      `Of ${all.length} labelled slices, ${train.length} are left to teach and ${validation.length} to measure.`,
      { hint: 'Both verdicts are needed in both: give more worked solutions, or raise validation_share.' },
    )
  }
  return {
    train,
    validation,
    dropped: examples.length - train.length,
    found: all.filter(({ verdict }) => verdict === 1).length / all.length,
    seed: random('passes').int(2 ** 31),
  }
})

async function label(
  ctx: Context,
  { others, random, seed, ...cut }: Slices,
  part: 'train' | 'validation',
): Promise<LabelledSlice[]> {
  const { config } = ctx
  if (config.labels === 'planted') return labelByRule(cut[part], random('planted', part))
  if (config.labels === 'source') return labelBySource(cut[part], others[part])
  const { label_tokens, label_temperature, file, ...service } = config.endpoint
  return labelByEndpoint(cut[part], {
    file: ctx.path(file),
    settings: { ...service, max_tokens: label_tokens, temperature: label_temperature },
    prompt: (slice) => discriminatorPrompt(config.discriminator, slice),
    seed: seed('labels', part),
    signal: ctx.signal,
    progress: (done, total) => ctx.phase('slices are labelled', done, total),
  })
}

function encode({ config, roles }: Context, slice: LabelledSlice): Example[] {
  const { tokenizer } = roles.discriminator!.policy
  const caps = { analysis: config.analysis_tokens, completion: config.discriminator.max_tokens }
  const taught = config.rationale ? slice : { ...slice, rationale: '' }
  const content = targetOf(taught, tokenizer, caps)
  const { messages } = discriminatorPrompt(config.discriminator, slice)
  return encodeConversation(tokenizer, [...messages, { role: 'assistant', content }])
}

function exhibit({ question, shown, verdict }: LabelledSlice, group: number) {
  return { group, source: verdict, question, shown }
}

function record({ roles }: Context, { source, verdict, ...judgment }: Judgment): RolloutRecord {
  const { tokenizer } = roles.discriminator!.policy
  const { rollout } = judgment
  const right = verdict === source
  return {
    role: 'discriminator',
    group: judgment.exhibit,
    index: 0,
    prompt: tokenizer.decode(judgment.prompt, { special: true }),
    ...completionFields(rollout, tokenizer),
    reward: Number(right),
    parts: { slice: judgment.shown, label: source === 1 ? 'YES' : 'NO', right },
    advantage: 0,
    trained: false,
  }
}
