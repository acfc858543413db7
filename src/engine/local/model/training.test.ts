import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Array64, logSoftmax, pickTargets, rmsNorm } from '../../../../test/support/array64.js'
import { decoderLayer64 } from '../../../../test/support/decoder64.js'
import {
  errorOf,
  finiteDifferences,
  forwardTolerance,
  functional,
  gradientTolerance,
  onesFor,
  randomTensor,
  tensorOf,
  toArray64,
} from '../../../../test/support/derivatives.js'
import { type RandomStream, randomStream } from '../../../core/random.js'
import type { LoraSpec } from '../../engine.js'
import type { ModelConfig } from '../../hf/config.js'
import { modelParameters } from '../../hf/parameters.js'
import { type Bindings, type Sizes, shapeOf } from '../graph/program.js'
import { startRuntime } from '../ort/runtime.js'
import { allocate, Tensor } from '../ort/tensor.js'
import { causalMask, pack } from '../train/pack.js'
import { linearLayers } from './layer.js'
import { type Differentiated, gradientIn, gradientOut, trainingHead, trainingLayer } from './training.js'
import { RotaryCache } from './weights.js'

beforeAll(() => {
  startRuntime(1)
})

const plain: ModelConfig = {
  architecture: 'llama',
  vocabSize: 7,
  hiddenSize: 6,
  intermediateSize: 5,
  layers: 1,
  heads: 2,
  kvHeads: 2,
  headDim: 2,
  normEpsilon: 1e-5,
  ropeTheta: 20,
  maxPosition: 64,
  tiedEmbeddings: false,
  attentionBias: false,
  outputBias: false,
  mlpBias: false,
  qkNorm: false,
  eosIds: [],
  raw: {},
}
const qwen3: ModelConfig = { ...plain, architecture: 'qwen3', qkNorm: true, heads: 4, headDim: 4 }
const qwen2: ModelConfig = { ...plain, architecture: 'qwen2', attentionBias: true, heads: 2, kvHeads: 1 }
const lora: LoraSpec = { rank: 2, alpha: 3, targets: [...linearLayers(plain).keys()] }

const kinds: { name: string; config: ModelConfig; lora?: LoraSpec }[] = [
  { name: 'Llama, a key head for each query head', config: plain },
  {
    name: 'Llama with all its biases',
    config: { ...plain, attentionBias: true, outputBias: true, mlpBias: true },
  },
  { name: 'Qwen2, two query heads to a key head', config: qwen2 },
  { name: 'Qwen3, two query heads to a key head', config: qwen3 },
  {
    name: 'Qwen3 with sizes of 1',
    config: { ...qwen3, hiddenSize: 1, intermediateSize: 1, heads: 1, kvHeads: 1, headDim: 2 },
  },
  { name: 'Qwen3 with an adapter everywhere', config: qwen3, lora },
  {
    name: 'Qwen2 with an adapter on two',
    config: qwen2,
    lora: { ...lora, targets: ['q_proj', 'down_proj'] },
  },
]

/** Random weights of a layer by their path in it. */
function layerWeights(config: ModelConfig, lora: LoraSpec | undefined, random: RandomStream) {
  const prefix = 'model.layers.0.'
  const weights = new Map<string, Tensor>()
  for (const { name, shape } of modelParameters(config))
    if (name.startsWith(prefix)) weights.set(name.slice(prefix.length), randomTensor(random, shape))
  for (const target of lora?.targets ?? []) {
    const { path, inputs, outputs } = linearLayers(config).get(target)!
    weights.set(`${path}.lora_A.weight`, randomTensor(random, [lora!.rank, inputs]))
    weights.set(`${path}.lora_B.weight`, randomTensor(random, [outputs, lora!.rank]))
  }
  return weights
}

/** Forward and backward at x and dy. Gradients are summed in place onto random numbers, which are taken off again. */
function runBoth(
  part: Differentiated,
  bindings: Bindings,
  weights: Bindings,
  sizes: Sizes,
  random: RandomStream,
) {
  const out = (shape: readonly number[]) => new Tensor(allocate(shape.reduce((a, b) => a * b, 1)), shape)
  const x = bindings.get('x')!
  const y = out(shapeOf(part.output.shape, sizes))
  const plain = out(y.shape)
  const made = new Map([
    ['y', y],
    ['dx', out(x.shape)],
    ...part.kept.map((value) => [value.name, out(shapeOf(value.shape, sizes))] as const),
    ...onesFor(part.backward.program.inputs, sizes),
  ])
  const sums = part.trained.map((name) => [name, randomTensor(random, weights.get(name)!.shape)] as const)
  const before = sums.map(([, { data }]) => Array.from(data as Float32Array))
  part.inference.run(new Map([['y', plain]]), bindings, weights)
  part.forward.run(made, bindings, weights)
  part.backward.run(
    made,
    bindings,
    weights,
    new Map(
      sums.flatMap(([name, tensor]) => [
        [gradientIn(name), tensor],
        [gradientOut(name), tensor],
      ]),
    ),
  )
  for (const program of [part.inference, part.forward, part.backward]) program.release()
  const gradients = new Map<string, Float32Array>(
    sums.map(([name, { data }], i) => [name, (data as Float32Array).map((g, j) => g - before[i]![j]!)]),
  )
  gradients.set('x', made.get('dx')!.data as Float32Array)
  return { y: y.data as Float32Array, plain: plain.data as Float32Array, gradients }
}

/** Holds both runs of a part to a function in float64 of the same x and weights. */
function expectAgreement(
  actual: ReturnType<typeof runBoth>,
  tensors: Bindings,
  dy: Tensor,
  reference: (exact: Record<string, Array64>) => Array64,
) {
  const exact = Object.fromEntries([...tensors].map(([name, tensor]) => [name, toArray64(tensor)]))
  expect(errorOf(actual.y, reference(exact).data)).toBeLessThan(forwardTolerance)
  expect(errorOf(actual.plain, reference(exact).data)).toBeLessThan(forwardTolerance)
  for (const [name, slope] of actual.gradients) {
    const f = () => functional(reference(exact), dy.data as Float32Array)
    const expected = finiteDifferences(f, exact[name]!.data)
    expect(errorOf(slope, expected), `gradient of ${name}`).toBeLessThan(gradientTolerance)
  }
}

describe.each([false, true])('a training layer against float64, recompute %s', (recompute) => {
  it.each(kinds)('$name', ({ config, lora }) => {
    const ragged = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 3 })
    const check = (lengths: number[], seed: number) => {
      const random = randomStream(seed, 'layer')
      const packed = pack(
        lengths.map((length) => ({ tokens: new Int32Array(length) })),
        config.heads,
        config.kvHeads,
      )
      const { tokens: N, sequences: B, longest: S } = packed
      const { heads, kvHeads, hiddenSize } = config
      const group = heads / kvHeads
      const x = randomTensor(random, [N, hiddenSize])
      const dy = randomTensor(random, [N, hiddenSize])
      const weights = layerWeights(config, lora, random)
      const part = trainingLayer(config, lora, recompute)
      expect(part.kept.length > 0).toBe(!recompute)
      expect([...part.trained].sort()).toEqual(
        [...weights.keys()].filter((name) => !lora || name.includes('lora')).sort(),
      )
      const bindings = new Map([
        ['x', x],
        ['dy', dy],
        ['positions', tensorOf(packed.positions, [N, 1])],
        ['padQuery', tensorOf(packed.padQuery, [B, kvHeads, group * S])],
        ['packQuery', tensorOf(packed.packQuery, [N * heads])],
        ['padKey', tensorOf(packed.padKey, [B, kvHeads, S])],
        ['packKey', tensorOf(packed.packKey, [N * kvHeads])],
        ['real', tensorOf(packed.real, [B, kvHeads, group * S, 1])],
        ['mask', tensorOf(causalMask(group, S), [group * S, S])],
        ...new RotaryCache(config).bindings(S),
      ])
      const actual = runBoth(part, bindings, weights, { N, B, S }, random)
      expectAgreement(actual, new Map([...weights, ['x', x]]), dy, ({ x, ...exact }) =>
        decoderLayer64(config, lora, exact, x!, lengths),
      )
    }
    fc.assert(fc.property(ragged, fc.nat(), check), { seed: 1, numRuns: 2, examples: [[[3, 1, 2], 1]] })
  })
})

describe('the training head against float64', () => {
  it.each([
    ['whole weights', undefined],
    ['an adapter, which has no part in the head', lora],
  ])('%s', (_, lora) => {
    const check = (M: number, seed: number) => {
      const random = randomStream(seed, 'head')
      const { hiddenSize, vocabSize, normEpsilon } = plain
      const targets = BigInt64Array.from({ length: M }, () => BigInt(random.int(vocabSize)))
      const [x, dy] = [randomTensor(random, [M, hiddenSize]), randomTensor(random, [M, 1])]
      const weights = new Map([
        ['model.norm.weight', randomTensor(random, [hiddenSize])],
        ['lm_head.weight', randomTensor(random, [vocabSize, hiddenSize])],
      ])
      const part = trainingHead(plain, lora)
      expect([...part.trained].sort()).toEqual(lora ? [] : [...weights.keys()].sort())
      const bindings = new Map([
        ['x', x],
        ['dy', dy],
        ['target', tensorOf(targets, [M, 1])],
        ['inverseTemperature', tensorOf(Float32Array.of(1.25), [])],
      ])
      const actual = runBoth(part, bindings, weights, { M }, random)
      expectAgreement(actual, new Map([...weights, ['x', x]]), dy, (exact) => {
        const h = rmsNorm(exact.x!, exact['model.norm.weight']!, normEpsilon)
        return pickTargets(logSoftmax(h, exact['lm_head.weight']!, 1.25), targets)
      })
    }
    fc.assert(fc.property(fc.integer({ min: 1, max: 6 }), fc.nat(), check), { seed: 1, numRuns: 4 })
  })
})
