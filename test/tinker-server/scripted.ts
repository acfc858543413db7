/** Weights that are none: every operation takes its fixed time, one after another, and gives made-up numbers. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Asked, Backend, Completion, Manner, Sampler, Scored, Weights } from './weights.js'

export interface Script {
  /** Milliseconds of a batch of samples, of a forward and of an optimizer step. @default 0 */
  sampleMs?: number
  forwardMs?: number
  stepMs?: number
  /** Tokens of every completion, where the request allows as many. @default 8 */
  length?: number
  /** @default 112 */
  vocabulary?: number
  /** What a completion of a prompt is, its end token included. @default made-up tokens */
  says?: (prompt: Int32Array, index: number) => Int32Array
}

export interface ScriptedBackend extends Backend {
  /** Milliseconds spent at work so far. */
  readonly busyMs: number
}

export function scriptedBackend(script: Script): ScriptedBackend {
  const { sampleMs = 0, forwardMs = 0, stepMs = 0, length = 8, vocabulary = 112, says } = script
  let busyMs = 0
  let last: Promise<unknown> = Promise.resolve()
  const work = (ms: number): Promise<void> => {
    if (ms === 0) return Promise.resolve()
    const start = async () => {
      const from = performance.now()
      await sleep(ms)
      busyMs += performance.now() - from
    }
    const done = last.then(start)
    last = done
    return done
  }
  const sampler: Sampler = {
    async sample(asked: Asked[], manner: Manner, done) {
      await work(sampleMs)
      asked.forEach(({ n, seed, prompt }, request) => {
        const made = Array.from({ length: n }, (_, index): Completion => {
          if (says) {
            const tokens = says(prompt, index)
            return { tokens, logprobs: new Float32Array(tokens.length).fill(-0.3), stop: 'stop' }
          }
          const tokens = Int32Array.from(
            { length: Math.min(length, manner.maxTokens) },
            (_, t) => (seed + 31 * index + 7 * t) % vocabulary,
          )
          const stop = manner.maxTokens <= length ? 'length' : 'stop'
          return { tokens, logprobs: new Float32Array(tokens.length).fill(-0.3), stop }
        })
        done(request, made)
      })
    },
    async logprobs(sequences: Scored[]) {
      await work(forwardMs)
      return sequences.map(({ tokens }) => new Float32Array(tokens.length).fill(-0.1))
    },
    decode: (tokens) => Array.from(tokens, (token) => String.fromCharCode(32 + (token % 90))).join(''),
    close: async () => {},
  }
  const save = async (folder: string) => {
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'adapter_config.json'), '{}')
  }
  const weights: Weights = {
    ...sampler,
    async step() {
      await work(stepMs)
      return { gradNorm: 1 }
    },
    snapshot: async () => sampler,
    save,
    load: async () => {},
    overwrite: async () => {},
    decay: async () => {},
  }
  return {
    get busyMs() {
      return busyMs
    },
    shapeOf: async () => ({ context: 1 << 20, vocabulary }),
    create: async () => weights,
    openBase: async () => sampler,
    openSaved: async () => sampler,
    close: async () => {},
  }
}
