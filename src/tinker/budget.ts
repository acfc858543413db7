/** A limit on what is in flight at once, in requests or bytes, first come first served. */
import { unlessAborted } from './abort.js'

export class Budget {
  #used = 0
  readonly #queue: { amount: number; start: () => void }[] = []

  constructor(
    /** Most in flight; what is larger than that goes alone. */
    private limit: number,
  ) {}

  /** Resolves when the amount fits; the function it gives hands the amount back, once. */
  async take(amount: number, signal: AbortSignal): Promise<() => void> {
    const entry = { amount, start: () => {} }
    const started = new Promise<void>((resolve) => {
      entry.start = resolve
    })
    this.#queue.push(entry)
    this.#admit()
    try {
      await unlessAborted(started, signal)
    } catch (error) {
      const at = this.#queue.indexOf(entry)
      if (at >= 0) this.#queue.splice(at, 1)
      else this.#give(amount)
      this.#admit()
      throw error
    }
    let held = true
    return () => {
      if (held) this.#give(amount)
      held = false
    }
  }

  setLimit(limit: number): void {
    this.limit = limit
    this.#admit()
  }

  #give(amount: number): void {
    this.#used -= amount
    this.#admit()
  }

  #admit(): void {
    while (this.#queue.length > 0) {
      const { amount, start } = this.#queue[0]!
      if (this.#used > 0 && this.#used + amount > this.limit) return
      this.#used += amount
      this.#queue.shift()
      start()
    }
  }
}
