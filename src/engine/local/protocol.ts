/** What the engine's thread and its clients say to each other. */
import type { HostOptions } from './host.js'

export interface WorkerStart {
  threads: number
  options: HostOptions
}

/** Methods of the host that may be called from outside, by name. */
export type Method =
  | 'open'
  | 'sample'
  | 'logprobs'
  | 'forwardBackward'
  | 'optimStep'
  | 'gradients'
  | 'snapshot'
  | 'save'
  | 'load'
  | 'release'
  | 'plan'

export type Request = { id: number; method: Method; args: unknown[] } | { cancel: number }

export type Response =
  | { id: number; items: unknown[] }
  | { id: number; result: unknown }
  | { id: number; error: ErrorRecord }

/** An error in a form that crosses threads. */
export interface ErrorRecord {
  code: string
  message: string
  hint?: string
  stack?: string
}
