/**
 * The game contract. A game describes one round of an adversarial training method; the runner owns everything else:
 * journal, checkpoints, resume, metrics files, anchors, Ctrl-C.
 */
import type { z } from 'zod'
import type { RandomStream } from '../core/random.js'
import type { AdamParams, ChatMessage, Policy } from '../engine/engine.js'
import type { Grader } from '../grader/grader.js'

/** A seat in the game: its policy and how it is optimised. */
export interface Role {
  name: string
  policy: Policy
  /** Adam parameters for the current round (schedules applied). */
  adam: AdamParams
}

export interface GameContext<Config> {
  config: Config
  roles: Record<string, Role>
  grader: Grader
  /** Rounds done before this one, from 0. */
  round: number
  /** Total rounds planned. */
  rounds: number
  /** Seeded stream of this name in this round. */
  random(...names: (string | number)[]): RandomStream
  /** Seed for engine sampling, of this name in this round. */
  seed(...names: (string | number)[]): number
  /** Resolves a path of the run file. */
  path(relative: string): string
  /**
   * Says what the round is doing, for the live display; done/total where known, and the tokens that were sampled in the phase
   * so far. A name that begins with that of a role, as in `solver samples`, is that role's work.
   */
  phase(name: string, done?: number, total?: number, tokens?: number): void
  signal: AbortSignal
  /** True answer of a question where the world can check it (label audit only; never a reward). */
  world: World | undefined
}

/** A world whose questions can be answered by rule, used for auditing labels, never for rewards. */
export interface World {
  name: string
  /** The true answer, or undefined when the text is not a question of this world. */
  solve(question: string): string | undefined
  /**
   * Whether a step of reasoning is true, or undefined where the world cannot tell; with `question`, the first step of an
   * answer to it, which must begin there.
   */
  holds?(step: string, question?: string): boolean | undefined
}

/** One line of rollouts/round-NNNNNN/<role>.jsonl. */
export interface RolloutRecord {
  role: string
  /** Groups share a prompt; rewards are compared within a group. */
  group: number
  index: number
  prompt: string
  text: string
  tokens: number
  stop: string
  /** Mean raw log-probability of the tokens, nats. */
  logprob: number
  /** Characters of `text` that each token stands for, in UTF-16 code units: 0 for what ends the text, or is part of a character. */
  token_lengths: number[]
  /** Raw log-probability of each token, nats, to three decimals. */
  token_logprobs: number[]
  reward: number
  /** Every part of the reward and every verdict, by name. */
  parts: Record<string, number | string | boolean | null>
  advantage: number
  /** False where the rollout entered no update. */
  trained: boolean
}

export interface RoundReport {
  /** Numbers by metric name (docs/metrics.md); NaN and infinities are written as null. */
  metrics: Record<string, number>
  rollouts: RolloutRecord[]
  /** Why no update was made, where none was. */
  skipped?: string
}

export interface Game<Config = unknown, State = unknown> {
  name: string
  /** One sentence for `sparring games`. */
  summary: string
  roles: readonly string[]
  /** Settings: unknown keys are errors; every key has a default and a description. */
  config: z.ZodType<Config>
  /**
   * Loads data and prepares state; throws ConfigError or DataError. State must survive JSON. Called on resume as well,
   * with the policies at their start weights; the checkpoint's weights and state are put in afterwards.
   */
  setup(ctx: Omit<GameContext<Config>, 'round'>): Promise<State>
  round(ctx: GameContext<Config>, state: State): Promise<{ state: State; report: RoundReport }>
  /** Role whose policy, optimizer included, plays this role: itself, unless the settings let one model play several. */
  playedBy?(config: Config, role: string): string
  /** How a held-out problem is put to the role that answers problems in this game; the bare problem where absent. */
  anchorPrompt?(config: Config, problem: string): { messages: ChatMessage[]; suffix?: string }
  /** How two roles face each other outside the rounds; absent where they do not, as in a game of one role. */
  duel?(config: Config): Duel<Config> | undefined
  /** The largest demands of a round, for the memory plan. */
  workload?(config: Config): Workload
  /** What a round asks of each role at most, for the forecast of a dry run: prompts are as long as their limits, completions too. */
  demands?(config: Config): Record<string, Demand>
  /** Files that the settings name. */
  files?(config: Config): NeededFile[]
}

/**
 * Two roles face each other while nobody learns: one sets tasks, the other takes them on. What frozen opponents and the arena
 * play. The policies may be of different rounds; `ctx.roles` holds those that face each other.
 */
export interface Duel<Config = unknown, Task = unknown> {
  /** Role that sets the tasks; `set` asks its policy alone. */
  setter: string
  /** Role that takes them on; `take` asks its policy alone. */
  taker: string
  /** What earns the taker a point, in a few words. */
  point: string
  /** The tasks that count among `n` that the setter's policy is asked for. */
  set(ctx: GameContext<Config>, n: number): Promise<Task[]>
  /** What the taker's policy makes of each task. */
  take(ctx: GameContext<Config>, tasks: readonly Task[]): Promise<DuelResult[]>
}

export interface DuelResult {
  /** Of the taker, 0 .. 1, what is left is the setter's; null where the task could not be put. */
  points: number | null
  /** Kinds of tasks count alike in a score, however many there are of each; all tasks are of one kind where absent. */
  kind?: string
}

export interface Workload {
  /** Tokens of the largest training batch, prompts included. */
  trainTokens: number
  /** Tokens of the longest sequence, prompt and completion. */
  longestSequence: number
  /** Most completions sampled at once. */
  sampleRows: number
}

/** Upper bounds of a round, of the seat of one role. */
export interface Demand {
  sampled: SampleDemand[]
  /** Sequences that are trained in `steps` optimizer steps, each of `tokens` at most, prompts included. */
  trained?: { sequences: number; tokens: number; steps: number }
  /** A frozen copy of the start weights is kept, and, where `scores`, asked for log-probabilities of what is trained. */
  start?: { scores: boolean }
  /** Sequences whose log-probabilities are asked for beside, without a gradient. */
  scored?: number
}

export interface SampleDemand {
  prompts: number
  /** Of each prompt. */
  completions: number
  promptTokens: number
  completionTokens: number
  /** Rounds between such samples. @default 1 */
  every?: number
}

/** A file or folder of the user's. */
export interface NeededFile {
  /** Key that names it, such as `settings.knowledge.path`. */
  key: string
  path: string
  /** What it must hold, in a few words. */
  what: string
}

// biome-ignore lint/suspicious/noExplicitAny: a game whose settings and state are its own business
export type AnyGame = Game<any, any>
