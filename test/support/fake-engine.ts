/**
 * An engine of a few numbers, for tests of what surrounds engines: exact, seeded, and with real files. Its model reads
 * and writes characters; its weights are one number a character, moved by Adam with momentum, so that a lost optimizer
 * state shows.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Datum } from '../../src/core/datum.js'
import { randomStream } from '../../src/core/random.js'
import type { RawLogprobs, Rollout } from '../../src/core/rollout.js'
import type {
  AdamParams,
  Engine,
  FrozenPolicy,
  LossReport,
  OptimReport,
  Policy,
  SampleParams,
  SampleRequest,
  Tokenizer,
} from '../../src/engine/engine.js'

const ALPHABET = ' 0123456789+=?\\boxed{}'
const EOS = ALPHABET.length

export const fakeTokenizer: Tokenizer = {
  vocabSize: ALPHABET.length + 1,
  eosIds: [EOS],
  encode: (text) => Int32Array.from([...text].map((letter) => Math.max(0, ALPHABET.indexOf(letter)))),
  decode: (tokens) => Array.from(tokens, (token) => ALPHABET[token] ?? '').join(''),
  encodeChat: (messages, options = {}) =>
    fakeTokenizer.encode(messages.map(({ content }) => content).join(' ') + (options.suffix ?? '')),
}

/** Called before everything the engine does; a test may throw from it. */
export type Hook = (what: string) => void

export function fakeEngine(hook: Hook = () => {}): Engine {
  return {
    capabilities: { name: 'fake', exactEntropy: true, deterministic: true, temperedLoss: true },
    async open({ model, seed }) {
      hook('open')
      const start = randomStream(seed, 'weights')
      const saved = await readFile(join(model, 'weights.json'), 'utf8').catch(() => undefined)
      const fresh = Array.from({ length: EOS + 1 }, () => start.normal())
      return new FakePolicy(saved === undefined ? fresh : JSON.parse(saved), hook)
    },
    planMemory: async () => ({
      parts: [{ what: 'weights', bytes: 100 }],
      totalBytes: 100,
      availableBytes: 1e9,
    }),
    peakMemory: () => undefined,
    close: async () => {},
  }
}

class FakePolicy implements Policy {
  readonly tokenizer = fakeTokenizer
  version = 0
  #weights: number[]
  #momentum: number[]
  #gradient: number[]
  readonly #hook: Hook

  constructor(weights: number[], hook: Hook) {
    this.#weights = weights
    this.#momentum = weights.map(() => 0)
    this.#gradient = weights.map(() => 0)
    this.#hook = hook
  }

  async *sample(requests: SampleRequest[], params: SampleParams): AsyncIterable<Rollout> {
    for (const [request, { n, seed }] of requests.entries()) {
      this.#hook('sample')
      for (let index = 0; index < n; index++) {
        const stream = randomStream(seed, index)
        const length = Math.min(params.maxTokens, 4)
        const tokens = Int32Array.from({ length }, () =>
          this.#draw(params.temperature === 0 ? 0.5 : stream.uniform()),
        )
        const logprobs = Float32Array.from(tokens, (token) => this.#logprob(token)) as RawLogprobs
        const text = `\\boxed{${fakeTokenizer.decode(tokens).trim()}}`
        yield { request, index, tokens, logprobs, stop: 'eos', text, version: this.version }
      }
    }
  }

  async logprobs(sequences: { targets: Int32Array }[]): Promise<Float32Array[]> {
    return sequences.map(({ targets }) => Float32Array.from(targets, (token) => this.#logprob(token)))
  }

  async forwardBackward(data: Datum[]): Promise<LossReport> {
    this.#hook('forwardBackward')
    let tokens = 0
    for (const { targets, advantages, weights } of data) {
      targets.forEach((token, t) => {
        const scale = advantages?.[t] ?? weights?.[t] ?? 0
        this.#gradient[token]! -= scale * (1 - Math.exp(this.#logprob(token)))
        if (scale !== 0) tokens++
      })
    }
    return { loss: this.#gradient.reduce((a, b) => a + b, 0), tokens, logprobs: await this.logprobs(data) }
  }

  async optimStep(adam: AdamParams): Promise<OptimReport> {
    this.#hook('optimStep')
    this.#momentum = this.#momentum.map((m, i) => adam.beta1 * m + (1 - adam.beta1) * this.#gradient[i]!)
    this.#weights = this.#weights.map((w, i) => w - adam.learningRate * this.#momentum[i]!)
    const gradNorm = Math.hypot(...this.#gradient)
    this.#gradient = this.#gradient.map(() => 0)
    return {
      gradNorm,
      updateNorm: adam.learningRate * Math.hypot(...this.#momentum),
      version: ++this.version,
    }
  }

  async snapshot(): Promise<FrozenPolicy> {
    return new FakePolicy([...this.#weights], this.#hook)
  }

  async save(folder: string, { optimizer = true } = {}): Promise<void> {
    this.#hook('save')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'weights.json'), JSON.stringify(this.#weights))
    this.#hook('save optimizer')
    const state = JSON.stringify({ momentum: this.#momentum, version: this.version })
    if (optimizer) await writeFile(join(folder, 'optimizer.json'), state)
  }

  async load(folder: string): Promise<void> {
    this.#hook('load')
    const read = async (name: string) => JSON.parse(await readFile(join(folder, name), 'utf8'))
    this.#weights = await read('weights.json')
    const { momentum, version } = await read('optimizer.json')
    this.#momentum = momentum
    this.version = version
  }

  async close(): Promise<void> {}

  /** Log-softmax of the weights. */
  #logprob(token: number): number {
    const total = this.#weights.reduce((sum, weight) => sum + Math.exp(weight), 0)
    return this.#weights[token]! - Math.log(total)
  }

  #draw(u: number): number {
    let left = u
    for (let token = 0; token < EOS; token++) {
      left -= Math.exp(this.#logprob(token))
      if (left < 0) return token
    }
    return EOS
  }
}
