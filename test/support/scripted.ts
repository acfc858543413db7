/** Stand-ins for the engine and the grader: policies that say what a script says, for tests of control flow. */
import type { Datum } from '../../src/core/datum.js'
import { randomStream } from '../../src/core/random.js'
import type { RawLogprobs, Rollout, StopReason } from '../../src/core/rollout.js'
import type {
  AdamParams,
  Loss,
  Policy,
  SampleParams,
  SampleRequest,
  Tokenizer,
} from '../../src/engine/engine.js'
import type { GameContext, Role, World } from '../../src/games/game.js'
import { lastBoxed } from '../../src/grader/extract/boxed.js'
import type { Grader } from '../../src/grader/grader.js'

const START = '\ue000'
const END = '\ue001'

/** One token a character; ChatML-like template. Character U+E001 ends a turn. */
export const characterTokenizer: Tokenizer = {
  vocabSize: 2 ** 16,
  eosIds: [END.charCodeAt(0)],
  encode: (text) => Int32Array.from(text.split(''), (c) => c.charCodeAt(0)),
  decode: (tokens, options) => {
    const text = String.fromCharCode(...Array.from(tokens))
    return options?.special ? text : text.replaceAll(START, '').replaceAll(END, '')
  },
  encodeChat(messages, options) {
    const turns = messages.map(({ role, content }) => `${START}${role}\n${content}${END}\n`).join('')
    const open = options?.generationPrompt ? `${START}assistant\n` : ''
    return this.encode(`${turns}${open}${options?.suffix ?? ''}`)
  },
}

/** What a policy says: its n-th completion of a prompt. */
export type Script = (prompt: string, index: number) => string | { text: string; stop: StopReason }

export interface ScriptedPolicy extends Policy {
  /** Every forwardBackward so far. */
  trained: { data: Datum[]; loss: Loss }[]
  /** Prompts of every sample call so far. */
  asked: { prompt: string; n: number; params: SampleParams }[]
}

/** Every token has log-probability -0.5 and entropy 0.25. Completions arrive last first. */
export function scriptedPolicy(script: Script): ScriptedPolicy {
  let version = 0
  const policy: ScriptedPolicy = {
    tokenizer: characterTokenizer,
    get version() {
      return version
    },
    trained: [],
    asked: [],
    async *sample(requests: SampleRequest[], params: SampleParams) {
      for (let request = requests.length - 1; request >= 0; request--) {
        const { prompt: ids, n } = requests[request]!
        const prompt = characterTokenizer.decode(ids, { special: true })
        policy.asked.push({ prompt, n, params })
        for (let index = n - 1; index >= 0; index--) {
          const said = script(prompt, index)
          yield rollout(
            typeof said === 'string' ? { text: said, stop: 'eos' } : said,
            request,
            index,
            version,
          )
        }
      }
    },
    logprobs: async (sequences) =>
      sequences.map(({ targets }) => new Float32Array(targets.length).fill(-0.5)),
    async forwardBackward(data, loss) {
      policy.trained.push({ data, loss })
      const logprobs = data.map(({ targets }) => new Float32Array(targets.length).fill(-0.5))
      return { loss: 0, tokens: data.length, logprobs }
    },
    async optimStep(_adam: AdamParams) {
      version++
      return { gradNorm: 1, updateNorm: 0.1, version }
    },
    snapshot: async () => policy,
    save: async () => {},
    load: async () => {},
    close: async () => {},
  }
  return policy
}

function rollout(
  { text, stop }: { text: string; stop: StopReason },
  request: number,
  index: number,
  version: number,
): Rollout {
  const tokens = characterTokenizer.encode(stop === 'eos' ? text + END : text)
  return {
    request,
    index,
    tokens,
    logprobs: new Float32Array(tokens.length).fill(-0.5) as RawLogprobs,
    entropies: new Float32Array(tokens.length).fill(0.25),
    stop,
    text,
    version,
  }
}

/** Equal means: the last box, or the bare answer, is the gold text. Counts its calls. */
export function boxGrader(): Grader & { calls: number } {
  return {
    calls: 0,
    async grade(cases) {
      this.calls++
      return cases.map(({ gold, prediction, kind }) => {
        const extracted = kind === 'answer' ? prediction : (lastBoxed(prediction) ?? null)
        const equal = extracted === gold
        return {
          equal,
          extracted,
          reason: equal ? 'equal' : extracted === null ? 'no_answer' : 'different',
          ms: 0,
        }
      })
    },
    close: async () => {},
  }
}

const adam: AdamParams = {
  learningRate: 1e-3,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  weightDecay: 0,
  clipNorm: 1,
}

export interface ScriptedContext<Config> {
  config: Config
  policies: Record<string, Policy>
  round?: number
  rounds?: number
  grader?: Grader
  world?: World
}

export function scriptedContext<Config>(given: ScriptedContext<Config>): GameContext<Config> {
  const { config, policies, round = 0, rounds = 10, grader = boxGrader(), world } = given
  const roles = Object.entries(policies).map(([name, policy]): [string, Role] => [
    name,
    { name, policy, adam },
  ])
  return {
    config,
    roles: Object.fromEntries(roles),
    grader,
    round,
    rounds,
    random: (...names) => randomStream(7, round, ...names),
    seed: (...names) => randomStream(7, round, 'seed', ...names).int(2 ** 31),
    path: (relative) => relative,
    phase: () => {},
    signal: new AbortController().signal,
    world,
  }
}
