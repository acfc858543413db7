/** What a test may make go wrong, and when. */

export type Misfortune =
  /** This status instead of an answer; `processed`: the request was carried out all the same. */
  | {
      kind: 'status'
      status: number
      body?: unknown
      headers?: Record<string, string>
      processed?: boolean
    }
  /** An exception of the server: 500 as text, and the next request on the connection is reset. */
  | { kind: 'crash'; processed?: boolean }
  /** The connection ends before the answer, or within its body. */
  | { kind: 'hang up'; processed?: boolean; inBody?: boolean }
  /** A web page, as a proxy shows it. */
  | { kind: 'page'; status?: number; processed?: boolean }
  /** The first half of the answer's bytes, as if they were all. */
  | { kind: 'half' }
  /** Fields are missing and arrays too short. */
  | { kind: 'shape' }
  /** Log-probabilities that are not numbers. */
  | { kind: 'nan' }
  /** Answers so many milliseconds late. */
  | { kind: 'slow'; ms: number }
  /** Never answers. */
  | { kind: 'silent'; processed?: boolean }
  /** The promise made by this request is gone when asked for; `applied`: its operation is carried out all the same. */
  | { kind: 'lose'; applied: boolean }
  /** The operation fails. */
  | { kind: 'fail'; message: string; category?: 'user' | 'server' }
  /**
   * The server dies: before the request is read, or once it was taken and promised but not answered. It comes back after
   * `restartMs`, or when the test restarts it.
   */
  | { kind: 'die'; when: 'before' | 'accepted'; restartMs?: number; state?: 'kept' | 'lost' }

export interface Call {
  /** `asample`, `retrieve_future`, `archive`, ...: the path below /api/v1, or the name of the REST route. */
  route: string
  body: unknown
}

export type Fault = Misfortune & {
  on: string | ((call: Call) => boolean)
  /** @default 1 */
  times?: number
  /** Matching requests that go well before. @default 0 */
  after?: number
}

export class Faults {
  #planned: { fault: Fault; wait: number; left: number }[] = []

  add(fault: Fault): void {
    this.#planned.push({ fault, wait: fault.after ?? 0, left: fault.times ?? 1 })
  }

  clear(): void {
    this.#planned = []
  }

  /** Faults that have still to happen. */
  get left(): number {
    return this.#planned.reduce((sum, { left }) => sum + left, 0)
  }

  /** The fault of this call, which is counted as having happened. */
  next(call: Call): Misfortune | undefined {
    for (const plan of this.#planned) {
      const { on } = plan.fault
      if (typeof on === 'string' ? on !== call.route : !on(call)) continue
      if (plan.wait > 0) {
        plan.wait--
        continue
      }
      plan.left--
      this.#planned = this.#planned.filter(({ left }) => left > 0)
      return plan.fault
    }
    return undefined
  }
}
