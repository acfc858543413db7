/** Weights behind the protocol, as the local engine holds them; `scripted.ts` has others that only take their time. */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AdamParams, FrozenPolicy, Policy, SampleParams } from '../../src/engine/engine.js'
import { readModelConfig } from '../../src/engine/hf/config.js'
import { type LocalEngine, openLocalEngine } from '../../src/engine/local/index.js'
import { OperationError } from './errors.js'

export interface Scored {
  tokens: Int32Array
  targets: Int32Array
}

export interface Completion {
  tokens: Int32Array
  logprobs: Float32Array
  stop: 'stop' | 'length'
}

export interface Asked {
  prompt: Int32Array
  n: number
  seed: number
}

export interface Manner {
  maxTokens: number
  temperature: number
  topP: number
  topK: number
  stopStrings: string[]
  stopIds: number[]
  /** End-of-text ids end a completion by themselves. */
  stopsAtEos: boolean
}

export interface Sampler {
  /** Calls back with all completions of a request as soon as the last of them is there. */
  sample(
    asked: Asked[],
    manner: Manner,
    done: (request: number, completions: Completion[]) => void,
  ): Promise<void>
  logprobs(sequences: Scored[]): Promise<Float32Array[]>
  decode(tokens: Int32Array): string
  close(): Promise<void>
}

export interface Adapter {
  rank: number
  alpha: number
  targets: string[]
}

export interface Weights extends Sampler {
  /** One step on the gradient of Σ slope · log-probability. */
  step(data: (Scored & { slopes: Float32Array })[], adam: AdamParams): Promise<{ gradNorm: number }>
  snapshot(): Promise<Sampler>
  save(folder: string, optimizer: boolean): Promise<void>
  load(folder: string, optimizer: boolean): Promise<void>
  /** Puts saved weights in place of the present ones and leaves the optimizer as it is. */
  overwrite(folder: string): Promise<void>
  /** Multiplies the weights and leaves the optimizer as it is. */
  decay(factor: number): Promise<void>
}

export interface Backend {
  /** Longest context and number of logits of a base model. */
  shapeOf(base: string): Promise<{ context: number; vocabulary: number }>
  create(base: string, adapter: Adapter, seed: number): Promise<Weights>
  openBase(base: string): Promise<Sampler>
  openSaved(folder: string): Promise<Sampler>
  close(): Promise<void>
}

export interface EngineOptions {
  threads: number
}

/** Real weights: LoRA adapters on the folders of `models`. */
export async function openEngineBackend(
  models: Record<string, string>,
  options: EngineOptions,
): Promise<Backend> {
  const engine: LocalEngine = await openLocalEngine({ threads: options.threads })
  const bases = new Map<string, Promise<Policy>>()
  const folderOf = (base: string) => models[base]!
  const baseOf = (base: string) => {
    const known = bases.get(base) ?? engine.open({ model: folderOf(base), seed: 0 })
    bases.set(base, known)
    return known
  }
  return {
    async shapeOf(base) {
      const config = await readModelConfig(folderOf(base))
      const context = Number(config.raw.max_position_embeddings ?? 2048)
      return { context, vocabulary: config.vocabSize }
    },
    create: async (base, lora, seed) =>
      new EngineWeights(await engine.open({ model: folderOf(base), lora, seed })),
    async openBase(base) {
      const sampler = new EngineSampler(await baseOf(base))
      return Object.assign(sampler, { close: async () => {} })
    },
    openSaved: async (folder) => new EngineSampler(await engine.open({ model: folder, seed: 0 })),
    close: () => engine.close(),
  }
}

class EngineSampler<P extends FrozenPolicy = FrozenPolicy> implements Sampler {
  constructor(protected readonly policy: P) {}

  async sample(
    asked: Asked[],
    manner: Manner,
    done: (request: number, completions: Completion[]) => void,
  ): Promise<void> {
    const found = asked.map(({ n }) => new Array<Completion | undefined>(n).fill(undefined))
    await this.#stream(asked, manner, (request, index, completion) => {
      found[request]![index] = completion
      if (!found[request]!.includes(undefined)) done(request, found[request] as Completion[])
    })
  }

  async #stream(
    asked: Asked[],
    manner: Manner,
    take: (request: number, index: number, completion: Completion) => void,
  ): Promise<void> {
    const params: SampleParams = {
      maxTokens: manner.maxTokens,
      temperature: manner.temperature,
      topP: manner.topP,
      topK: manner.topK,
      stop: manner.stopStrings,
      stopIds: manner.stopIds,
    }
    const unfinished: (() => Promise<void>)[] = []
    for await (const { request, index, tokens, logprobs, stop } of this.policy.sample(asked, params)) {
      const passesEos = stop === 'eos' && !manner.stopsAtEos && !manner.stopIds.includes(tokens.at(-1)!)
      if (passesEos && tokens.length < manner.maxTokens)
        unfinished.push(() =>
          this.#goOn(asked[request]!, index, { tokens, logprobs }, manner, (completion) =>
            take(request, index, completion),
          ),
        )
      else
        take(request, index, { tokens, logprobs, stop: stop === 'length' || passesEos ? 'length' : 'stop' })
    }
    await Promise.all(unfinished.map((goOn) => goOn()))
  }

  /** Goes on behind an end-of-text token, as a server does that knows no such token. */
  #goOn(
    { prompt, seed }: Asked,
    index: number,
    head: { tokens: Int32Array; logprobs: Float32Array },
    manner: Manner,
    take: (completion: Completion) => void,
  ): Promise<void> {
    const next: Asked = { prompt: joined(prompt, head.tokens), n: 1, seed: seed + 7919 * (index + 1) }
    const left = { ...manner, maxTokens: manner.maxTokens - head.tokens.length }
    return this.#stream([next], left, (_, __, tail) =>
      take({
        tokens: joined(head.tokens, tail.tokens),
        logprobs: Float32Array.of(...head.logprobs, ...tail.logprobs),
        stop: tail.stop,
      }),
    )
  }

  logprobs(sequences: Scored[]): Promise<Float32Array[]> {
    return this.policy.logprobs(sequences)
  }

  decode(tokens: Int32Array): string {
    return this.policy.tokenizer.decode(tokens, { special: true })
  }

  close(): Promise<void> {
    return this.policy.close()
  }
}

class EngineWeights extends EngineSampler<Policy> implements Weights {
  async step(data: (Scored & { slopes: Float32Array })[], adam: AdamParams): Promise<{ gradNorm: number }> {
    const weighted = data.map(({ tokens, targets, slopes }) => ({
      tokens,
      targets,
      weights: slopes.map((slope) => -slope),
    }))
    if (weighted.length > 0) await this.policy.forwardBackward(weighted, { name: 'cross_entropy' })
    return this.policy.optimStep(adam)
  }

  async snapshot(): Promise<Sampler> {
    return new EngineSampler(await this.policy.snapshot())
  }

  save(folder: string, optimizer: boolean): Promise<void> {
    return this.policy.save(folder, { optimizer })
  }

  async load(folder: string, optimizer: boolean): Promise<void> {
    if (optimizer) return this.#load(folder)
    await inScratch(async (scratch) => {
      await cp(folder, scratch, { recursive: true, filter: (path) => !/optimizer|policy\.json/.test(path) })
      await this.#load(scratch)
    })
  }

  async overwrite(folder: string): Promise<void> {
    await inScratch(async (scratch) => {
      await this.policy.save(scratch, { optimizer: true })
      await cp(join(folder, 'adapter_model.safetensors'), join(scratch, 'adapter_model.safetensors'))
      await this.#load(scratch)
    })
  }

  async decay(factor: number): Promise<void> {
    await inScratch(async (scratch) => {
      await this.policy.save(scratch, { optimizer: true })
      const path = join(scratch, 'adapter_model.safetensors')
      const file = await readFile(path)
      // Behind the header's length and the header all numbers are float32.
      for (let at = 8 + Number(file.readBigUInt64LE(0)); at < file.length; at += 4)
        file.writeFloatLE(file.readFloatLE(at) * factor, at)
      await writeFile(path, file)
      await this.#load(scratch)
    })
  }

  async #load(folder: string): Promise<void> {
    await this.policy.load(folder).catch((error: Error) => {
      throw new OperationError(error.message)
    })
  }
}

async function inScratch(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'sparring-tinker-'))
  try {
    await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function joined(a: Int32Array, b: Int32Array): Int32Array {
  const out = new Int32Array(a.length + b.length)
  out.set(a)
  out.set(b, a.length)
  return out
}
