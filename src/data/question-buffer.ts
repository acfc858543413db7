/**
 * The question buffer of PasoDoble's offline form (arXiv 2511.11881; methods 2.2 of the released code): questions that
 * were worth learning from when they were proposed, read in circular order by a pointer that outlives the phases.
 */
export interface BufferedQuestion {
  question: string
  /** The proposer's own answer. */
  answer: string
  /** Largest pass rate measured so far, that of its proposal included. */
  best: number
  /** Visits in a row whose pass rate did not exceed `best` by more than 0.01. */
  stale: number
  /** Round in which it was proposed. */
  born: number
}

export interface QuestionBufferState {
  /** Oldest first. */
  questions: BufferedQuestion[]
  /** Index of the question to be read next; the length where every one was. */
  pointer: number
}

export interface QuestionBufferOptions {
  /** Questions kept; the oldest beyond it are dropped. 0 = no limit. */
  cap: number
  /**
   * `authors`: the rule that the released code holds but does not use. A question is dropped when a visit finds it solved
   * every time, or when three visits in a row brought no rise of its pass rate of more than 0.01.
   */
  eviction: 'none' | 'authors'
}

/** Of the authors' rule. */
const STALE_VISITS = 3
const RISE = 0.01

export class QuestionBuffer {
  readonly #options: QuestionBufferOptions
  readonly #questions: BufferedQuestion[]
  #pointer: number

  constructor(options: QuestionBufferOptions, state: QuestionBufferState = { questions: [], pointer: 0 }) {
    this.#options = options
    this.#questions = state.questions.map((question) => ({ ...question }))
    this.#pointer = state.pointer
  }

  get size(): number {
    return this.#questions.length
  }

  /** Adds a question at the end, where the pointer comes to it after those before it. */
  push({
    question,
    answer,
    passRate,
    born,
  }: Pick<BufferedQuestion, 'question' | 'answer' | 'born'> & { passRate: number }): void {
    this.#questions.push({ question, answer, best: passRate, stale: 0, born })
    if (this.#options.cap > 0 && this.size > this.#options.cap) this.#remove(0)
  }

  /**
   * The next n questions in circular order. A buffer of fewer gives some of them again, an empty one nothing. The pointer
   * turns back only when it is asked for more than there is, so that questions added meanwhile are read first.
   */
  take(n: number): BufferedQuestion[] {
    if (this.size === 0) return []
    return Array.from({ length: n }, () => {
      if (this.#pointer >= this.size) this.#pointer = 0
      return this.#questions[this.#pointer++]!
    })
  }

  /** Says what fresh answers to a question that was taken have shown; p in [0, 1]. Drops it where the rule says so. */
  visited(question: BufferedQuestion, passRate: number): void {
    const rises = passRate > question.best + RISE
    question.stale = rises ? 0 : question.stale + 1
    question.best = Math.max(question.best, passRate)
    const done = passRate >= 1 || question.stale >= STALE_VISITS
    const index = this.#questions.indexOf(question)
    if (this.#options.eviction === 'authors' && done && index >= 0) this.#remove(index)
  }

  toJSON(): QuestionBufferState {
    return { questions: this.#questions.map((question) => ({ ...question })), pointer: this.#pointer }
  }

  /** The pointer stays with the question that it stood before. */
  #remove(index: number): void {
    this.#questions.splice(index, 1)
    if (index < this.#pointer) this.#pointer--
  }
}
