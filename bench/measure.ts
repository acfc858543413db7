/** One case of the benchmark in a process of its own, so that its peak memory is its own. Prints one JSON object. */
import type { Datum } from '../src/core/datum.js'
import { randomStream } from '../src/core/random.js'
import { collect, type LoraSpec } from '../src/engine/engine.js'
import { type ModelConfig, readModelConfig } from '../src/engine/hf/config.js'
import { loraTargets } from '../src/engine/hf/lora.js'
import { modelParameters } from '../src/engine/hf/parameters.js'
import { type LocalEngine, openLocalEngine } from '../src/engine/local/index.js'
import type { LocalPolicy } from '../src/engine/local/policy.js'
import { matmulRate } from './matmul.js'

export interface CaseSpec {
  name: string
  model: string
  threads: number
  lora?: boolean
  /** Lengths of the training sequences. */
  lengths: number[]
  trainSeconds: number
  /** Rows of the batch, as many prompts with a group of completions each, and tokens of both; no sampling where absent. */
  sampling?: { rows: number; group: number; prompt: number; completion: number }
}

export interface CaseResult {
  name: string
  /** Float32 matrix product of 1024 x 1024, measured in this process, GFLOP/s. */
  matmulGflops: number
  trainTokensPerSecond: number
  /** Matrix work of real tokens, over the matrix-product rate. */
  trainFraction: number
  sampleTokensPerSecond?: number
  sampleFraction?: number
  peakMemoryBytes: number
}

/** Multiply-adds times two of one forward pass over a sequence of n tokens whose last `scored` positions reach the head. */
export function forwardFlops(config: ModelConfig, n: number, scored: number, from = 0): number {
  const linear = modelParameters(config)
    .filter(({ name, shape }) => shape.length === 2 && name.includes('.layers.'))
    .reduce((sum, { shape }) => sum + shape[0]! * shape[1]!, 0)
  // Scores and weighted values of a causal model: position t looks at t + 1 keys.
  const looks = ((from + n) * (from + n + 1) - from * (from + 1)) / 2
  const attention = 2 * config.layers * config.heads * config.headDim * looks
  return 2 * (n * linear + attention + scored * config.vocabSize * config.hiddenSize)
}

async function trainRate(policy: LocalPolicy, config: ModelConfig, spec: CaseSpec) {
  const random = randomStream(0, 'bench', spec.name)
  const tokens = spec.lengths.reduce((a, b) => a + b, 0)
  const data: Datum[] = spec.lengths.map((length) => {
    const ids = () => Int32Array.from({ length }, () => random.int(Math.min(90, config.vocabSize)))
    return { tokens: ids(), targets: ids(), weights: new Float32Array(length).fill(1 / tokens) }
  })
  await policy.forwardBackward(data, { name: 'cross_entropy' })
  const started = performance.now()
  let passes = 0
  do {
    await policy.forwardBackward(data, { name: 'cross_entropy' })
    passes++
  } while (performance.now() - started < spec.trainSeconds * 1000)
  const seconds = (performance.now() - started) / 1000
  // Outside the timing, but part of a run's memory: the step makes the optimizer's moments.
  const adam = { learningRate: 1e-6, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 }
  await policy.optimStep(adam)
  // An adapter needs no gradient of the frozen weights: two passes' worth of work instead of three.
  const factor = spec.lora ? 2 : 3
  const flops = factor * spec.lengths.reduce((sum, n) => sum + forwardFlops(config, n, n), 0)
  return { tokensPerSecond: (tokens * passes) / seconds, gflops: (flops * passes) / seconds / 1e9 }
}

async function sampleRate(
  policy: LocalPolicy,
  config: ModelConfig,
  sampling: NonNullable<CaseSpec['sampling']>,
) {
  const { rows, group, prompt, completion } = sampling
  const random = randomStream(0, 'bench', 'prompts')
  const params = { maxTokens: completion, temperature: 1, topP: 1, topK: 0, stop: [] }
  // More completions than rows: a row that ends is filled again, as in a run, so that the batch is what it says.
  const requests = Array.from({ length: rows }, (_, seed) => ({
    prompt: Int32Array.from({ length: prompt }, () => 10 + random.int(80)),
    n: group,
    seed,
  }))
  await collect(policy.sample(requests, { ...params, maxTokens: 2 }))
  const started = performance.now()
  const rollouts = await collect(policy.sample(requests, params))
  const seconds = (performance.now() - started) / 1000
  const sampled = rollouts.reduce((sum, { tokens }) => sum + tokens.length, 0)
  const completions = rollouts.map(({ tokens }) =>
    forwardFlops(config, tokens.length - 1, tokens.length - 1, prompt),
  )
  const flops = completions.reduce((a, b) => a + b, rows * forwardFlops(config, prompt, 1))
  return { tokensPerSecond: sampled / seconds, gflops: flops / seconds / 1e9 }
}

async function runCase(spec: CaseSpec): Promise<CaseResult> {
  const engine: LocalEngine = await openLocalEngine({
    threads: spec.threads,
    maxRows: spec.sampling?.rows ?? 1,
  })
  const lora: LoraSpec | undefined = spec.lora ? { rank: 16, alpha: 32, targets: loraTargets } : undefined
  const policy = await engine.open({ model: spec.model, seed: 0, ...(lora && { lora }) })
  const config = await readModelConfig(spec.model)
  const rateBefore = await matmulRate(spec.threads)
  const train = await trainRate(policy, config, spec)
  const sample = spec.sampling && (await sampleRate(policy, config, spec.sampling))
  const rateAfter = await matmulRate(spec.threads)
  const rate = (rateBefore + rateAfter) / 2
  const result: CaseResult = {
    name: spec.name,
    matmulGflops: rate,
    trainTokensPerSecond: train.tokensPerSecond,
    trainFraction: train.gflops / rate,
    ...(sample && { sampleTokensPerSecond: sample.tokensPerSecond, sampleFraction: sample.gflops / rate }),
    peakMemoryBytes: engine.peakMemory(),
  }
  await engine.close()
  return result
}

process.on('message', async (spec: CaseSpec) => {
  process.send!(await runCase(spec))
  process.disconnect()
})
