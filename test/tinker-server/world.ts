/** Everything that a server holds while it lives: sessions, models, sampling sessions and promises. */
import { randomBytes, randomUUID } from 'node:crypto'
import type { Checkpoints } from './checkpoints.js'
import type { Profile } from './dialects.js'
import { Refusal } from './errors.js'
import { Futures } from './futures.js'
import { type Known, Line } from './order.js'
import type { SampleQueue, SamplingSession } from './sampling.js'
import type { Adapter, Backend, Sampler, Weights } from './weights.js'

/** An optimizer step that was really taken. */
export interface AppliedStep {
  model: string
  seq: number | undefined
  /** Promise that asked for it. */
  request: string
  learningRate: number
}

/** What does not end with the server's process. */
export interface Surroundings {
  profile: Profile
  backend: Backend
  checkpoints: Checkpoints
  applied: AppliedStep[]
  /** Base models by name. */
  models: Record<string, string>
  slots: number
  maxRank: number
  sessionTimeoutMs: number
  gatherMs: number
  /** Samples waiting or running above which a client that can bear it is told to wait. */
  sampleLimit: number
  keptResults: number
  /** Ephemeral sampling sessions that are kept, the newest. */
  samplerLimit: number
}

export interface Session {
  id: string
  tags: string[]
  metadata: unknown
  beatAt: number
  createdAt: string
  /** What was created under a number of the session, for servers that know a retry by it. */
  created: Map<string, Known>
}

export interface Model {
  id: string
  session: string
  base: string
  adapter: Adapter
  trains: { train_unembed: boolean; train_mlp: boolean; train_attn: boolean }
  createdAt: string
  status: 'created' | 'loaded' | 'unloaded'
  weights: Weights | undefined
  /** Resolves when `create_model` has been carried out, well or not. */
  creation: Promise<unknown>
  line: Line
  /** Training requests taken so far. */
  taken: number
  /** Data whose gradient waits for the step, by what each sequence adds. */
  gradient: { tokens: Int32Array; targets: Int32Array; slopes: Float32Array }[]
  /** Optimizer steps taken. */
  steps: number
  /** Snapshot that was last written over the weights, where samplers do so. */
  slotHolds: string | undefined
}

export class World {
  readonly sessions = new Map<string, Session>()
  readonly models = new Map<string, Model>()
  readonly samplers = new Map<string, SamplingSession>()
  /** Samplers of base models and of saved weights, by name or path. */
  readonly frozen = new Map<string, Promise<Sampler>>()
  readonly futures: Futures
  queue!: SampleQueue
  /** Why nothing is carried out at the moment, as `retrieve_future` tells it. */
  paused: { state: string; reason?: string } | undefined
  #halted = false
  #dead = false
  #running = 0
  #last: Promise<unknown> = Promise.resolve()
  readonly #resumed = new Set<() => void>()
  readonly #stilled = new Set<() => void>()

  constructor(readonly around: Surroundings) {
    this.futures = new Futures(around.profile, around.keptResults)
  }

  /** Carries something out, unless the server stands still: then when it goes on, and not at all once it is dead. */
  async work(run: () => Promise<void>): Promise<void> {
    // One thing at a time where sampling writes over the weights in training.
    if (this.around.profile.sampler !== 'slot') return this.#whenAwake(run)
    const turn = this.#last.then(() => this.#whenAwake(run))
    this.#last = turn
    return turn
  }

  async #whenAwake(run: () => Promise<void>): Promise<void> {
    while ((this.#halted || this.paused) && !this.#dead)
      await new Promise<void>((resolve) => this.#resumed.add(resolve))
    if (this.#dead) return
    this.#running++
    try {
      await run()
    } finally {
      this.#running--
      if (this.#running === 0) wakeAll(this.#stilled)
    }
  }

  /** Nothing new is begun; resolves when what had begun has ended. */
  async halt(): Promise<void> {
    this.#halted = true
    while (this.#running > 0) await new Promise<void>((resolve) => this.#stilled.add(resolve))
  }

  resume(): void {
    this.#halted = false
    wakeAll(this.#resumed)
  }

  /** Promises that were not begun are cancelled. */
  cancelWaiting(): void {
    for (const { line } of this.models.values()) line.clear()
    this.futures.cancelPending()
  }

  /** Ends for good: weights are let go. Resolves when all is closed. */
  async end(): Promise<void> {
    this.#dead = true
    wakeAll(this.#resumed)
    await this.halt()
    for (const model of this.models.values()) await model.weights?.close()
    const ephemeral = [...this.samplers.values()].filter((session) => session.ephemeral)
    const snapshots = ephemeral.flatMap(({ source }) => (source.kind === 'frozen' ? [source.sampler] : []))
    for (const sampler of [...this.frozen.values(), ...snapshots])
      await (await sampler.catch(() => undefined))?.close()
    this.futures.cancelPending()
  }

  newLine(): Line {
    return new Line(this.around.profile, this.futures, (run) => this.work(run))
  }

  session(id: string): Session {
    const session = this.sessions.get(id)
    if (!session) throw new Refusal(404, 'Session not found')
    return session
  }

  model(id: string): Model {
    const model = this.models.get(id)
    if (!model || model.status === 'unloaded') throw new Refusal(404, 'Model not found')
    return model
  }

  /** Hosted names what belongs to a session by the session and its number, and the SDK counts on it. */
  newId(what: 'session' | 'model' | 'sampling', of?: { session: string; number: number }): string {
    const { dialect } = this.around.profile
    if (dialect === 'skyrl') return `${what}_${randomBytes(4).toString('hex')}`
    if (dialect === 'hosted' && of)
      return `${of.session}:${what === 'model' ? 'train' : 'sample'}:${of.number}`
    return randomUUID()
  }

  async unload(model: Model): Promise<void> {
    model.status = 'unloaded'
    await model.weights?.close()
    model.weights = undefined
    model.gradient = []
  }

  get usedSlots(): number {
    return [...this.models.values()].filter(({ status }) => status !== 'unloaded').length
  }

  /** Unloads models of sessions that have not been heard of for too long. */
  async expire(): Promise<void> {
    const oldest = Date.now() - this.around.sessionTimeoutMs
    for (const { id, beatAt } of this.sessions.values()) {
      if (beatAt >= oldest) continue
      for (const model of this.models.values())
        if (model.session === id && model.status !== 'unloaded') await this.unload(model)
    }
  }
}

function wakeAll(waiting: Set<() => void>): void {
  for (const wake of waiting) wake()
  waiting.clear()
}
