/** Rollouts: what is asked for, and what is told of each. Texts are as the models wrote them: hostile. */

/** A line of rollouts/round-NNNNNN/ROLE.jsonl. Anchors' answers are found as the role `heldout`. */
export interface RolloutRef {
  round: number
  role: string
  /** Of the file, from 0. */
  line: number
}

export interface RolloutsQuery {
  from?: number
  to?: number
  role?: string
  /** Ranges hold low <= value < high, as the bins of a histogram do. */
  reward?: [number, number]
  /** Pass rate of a question, or the majority's share. */
  rate?: [number, number]
  advantage?: [number, number]
  tokens?: [number, number]
  trained?: boolean
  /** Fate of a question, verdict on an answer, what was judged: as in the record. */
  outcome?: string
  /** Why the completion ended. */
  stop?: string
  /** In prompt, completion, question or problem; capitals do not matter. */
  text?: string
  /** `new` where absent. */
  order?: 'new' | 'old' | 'best' | 'worst' | 'random'
  /** Of `random`; 0 where absent. */
  seed?: number
  /** 50 where absent, at most 200. */
  limit?: number
  /** Of the answer before. */
  cursor?: string
}

export interface RolloutsAnswer {
  rows: RolloutRow[]
  /** How many there are in what was read; null while a text is looked for. */
  total: number | null
  /** Ask again with it for more; null at the end. A page may be short, or empty, and not the last. */
  cursor: string | null
  coverage: Coverage
  /** Texts only: a round has more that hold the text than are given of one. */
  more?: boolean
  /** What occurs in the rounds asked for, to choose filters from. */
  roles: string[]
  outcomes: string[]
}

export interface RolloutRow extends RolloutRef {
  group: number | null
  index: number | null
  /** First 300 characters of the completion, and of the question or problem where the record names one. */
  text: string
  question: string | null
  tokens: number | null
  stop: string | null
  logprob: number | null
  reward: number | null
  advantage: number | null
  rate: number | null
  outcome: string | null
  trained: boolean | null
}

/** Everything about a rollout. */
export interface Rollout extends RolloutRow {
  prompt: string
  /** Characters of the whole prompt, where only 20,000 are given. */
  promptCut: number | null
  /** The whole completion, or its beginning where `cut` is set. */
  text: string
  /** Characters of the whole completion, where only 20,000 are given: ask for the rollout alone. */
  cut: number | null
  /** Every part of the reward and every verdict, by name; texts among them end after 20,000 characters where others may. */
  parts: Record<string, Part>
  /** One entry a token; null in records of old runs. */
  heat: Heat | null
}

export type Part = number | string | boolean | null

export interface Heat {
  /** Characters of the text that the token stands for; 0 for one that ends the text or is part of a character. */
  lengths: number[]
  /** Raw log-probabilities, nats. */
  logprobs: number[]
}

/** Rollouts are read when they are first asked for; of a long run that takes a while. Ask again for the rest. */
export interface Coverage {
  /** Rounds read, of those that were asked for. */
  read: number
  of: number
  /** Why the rest will not be read: it does not fit into memory, or a report reads no longer. Absent where it will be. */
  ends?: 'memory' | 'time'
  /** Lines of those rounds that could not be read and are left out; absent where there are none. */
  damaged?: number
}
