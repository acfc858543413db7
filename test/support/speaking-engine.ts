/**
 * An engine whose policies say what a script says, and whose weights are one number that decides what the script draws:
 * for tests of whole games. A lost step, a lost optimizer state or a wrong seed changes every later word.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Datum } from '../../src/core/datum.js'
import { type RandomStream, randomStream } from '../../src/core/random.js'
import type { RawLogprobs, Rollout } from '../../src/core/rollout.js'
import type {
  AdamParams,
  Engine,
  FrozenPolicy,
  LossReport,
  Policy,
  SampleParams,
  SampleRequest,
} from '../../src/engine/engine.js'
import type { Hook } from './fake-engine.js'
import { characterTokenizer } from './scripted.js'

/** What a policy says to a prompt, by what it draws. */
export type Speech = (prompt: string, stream: RandomStream) => string

/** `speeches` by the last part of the model's path. */
export function speakingEngine(speeches: Record<string, Speech>, hook: Hook = () => {}): Engine {
  return {
    capabilities: { name: 'speaking', exactEntropy: true, deterministic: true, temperedLoss: true },
    open: async ({ model, seed }) => {
      hook('open')
      return new SpeakingPolicy(speeches[basename(model)]!, hook, randomStream(seed, 'weight').uniform())
    },
    planMemory: async () => ({ parts: [], totalBytes: 0, availableBytes: 1e9 }),
    peakMemory: () => undefined,
    close: async () => {},
  }
}

class SpeakingPolicy implements Policy {
  readonly tokenizer = characterTokenizer
  version = 0
  #gradient = 0
  #momentum = 0

  constructor(
    private readonly speech: Speech,
    private readonly hook: Hook,
    private weight: number,
  ) {}

  async *sample(requests: SampleRequest[], params: SampleParams): AsyncIterable<Rollout> {
    for (const [request, { prompt, n, seed }] of requests.entries()) {
      this.hook('sample')
      const said = characterTokenizer.decode(prompt, { special: true })
      for (let index = 0; index < n; index++) {
        const stream = randomStream(
          seed,
          index,
          params.temperature === 0 ? 'greedy' : 'sampled',
          `${this.weight}`,
        )
        const text = this.speech(said, stream)
        const tokens = characterTokenizer.encode(text)
        const logprobs = new Float32Array(tokens.length).fill(-(this.weight ** 2)) as RawLogprobs
        yield { request, index, tokens, logprobs, stop: 'eos', text, version: this.version }
      }
    }
  }

  async logprobs(sequences: { targets: Int32Array }[]): Promise<Float32Array[]> {
    return sequences.map(({ targets }) => new Float32Array(targets.length).fill(-(this.weight ** 2)))
  }

  async forwardBackward(data: Datum[]): Promise<LossReport> {
    this.hook('forwardBackward')
    for (const { targets, advantages, weights, referenceLogprobs } of data) {
      targets.forEach((token, t) => {
        const scale = (advantages ?? weights)![t]! + (referenceLogprobs?.[t] ?? 0)
        this.#gradient += scale * Math.sin(token)
      })
    }
    return { loss: this.#gradient, tokens: data.length, logprobs: await this.logprobs(data) }
  }

  async optimStep({ learningRate, beta1 }: AdamParams) {
    this.hook('optimStep')
    this.#momentum = beta1 * this.#momentum + (1 - beta1) * this.#gradient
    this.weight -= learningRate * this.#momentum
    const gradNorm = Math.abs(this.#gradient)
    this.#gradient = 0
    return { gradNorm, updateNorm: learningRate * Math.abs(this.#momentum), version: ++this.version }
  }

  async snapshot(): Promise<FrozenPolicy> {
    return new SpeakingPolicy(this.speech, this.hook, this.weight)
  }

  async save(folder: string): Promise<void> {
    this.hook('save')
    await mkdir(folder, { recursive: true })
    const state = { weight: this.weight, momentum: this.#momentum, version: this.version }
    await writeFile(join(folder, 'weights.json'), JSON.stringify(state))
  }

  async load(folder: string): Promise<void> {
    this.hook('load')
    const state = JSON.parse(await readFile(join(folder, 'weights.json'), 'utf8'))
    this.weight = state.weight
    this.#momentum = state.momentum
    this.version = state.version
  }

  async close(): Promise<void> {}
}
