import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { NotFiniteError } from '../../../core/errors.js'
import { randomStream } from '../../../core/random.js'
import type { AdamParams } from '../../engine.js'
import { Parameter } from '../model/weights.js'
import { startRuntime } from '../ort/runtime.js'
import { allocate } from '../ort/tensor.js'
import { adamStep } from './adam.js'

beforeAll(() => {
  startRuntime(1)
})

const usual: AdamParams = {
  ...{ learningRate: 1e-2, beta1: 0.9, beta2: 0.95, epsilon: 1e-8 },
  ...{ weightDecay: 0.1, clipNorm: 0 },
}

/** A weight matrix, which decays, and a norm, which does not. */
function makeParameters(seed: number): Map<string, Parameter> {
  const random = randomStream(seed, 'weights')
  const make = (name: string, shape: number[], decay: boolean) => {
    const data = allocate(shape.reduce((a, b) => a * b, 1))
    for (let i = 0; i < data.length; i++) data[i] = random.normal()
    const parameter = new Parameter(name, shape, decay, data)
    parameter.prepareTraining()
    return [name, parameter] as const
  }
  return new Map([make('matrix', [3, 4], true), make('norm', [5], false)])
}

const gradientOf = (parameter: Parameter) => parameter.training!.gradient.data as Float32Array
const floatsOf = (parameters: Map<string, Parameter>, of: (p: Parameter) => Float32Array) =>
  [...parameters.values()].flatMap((parameter) => [...of(parameter)])

/** AdamW, Loshchilov and Hutter 2019, algorithm 2, in float64 with the schedule multiplier 1. */
class Reference {
  readonly #mean: number[]
  readonly #variance: number[]
  #step = 0

  constructor(
    readonly weights: number[],
    readonly decays: boolean[],
    readonly adam: AdamParams,
  ) {
    this.#mean = weights.map(() => 0)
    this.#variance = weights.map(() => 0)
  }

  step(gradients: number[]): { gradNorm: number; updateNorm: number } {
    const { learningRate, beta1, beta2, epsilon, weightDecay, clipNorm } = this.adam
    const t = ++this.#step
    const gradNorm = Math.hypot(...gradients)
    const factor = clipNorm > 0 && gradNorm > clipNorm ? clipNorm / gradNorm : 1
    const changes = gradients.map((gradient, i) => {
      const g = gradient * factor
      this.#mean[i] = beta1 * this.#mean[i]! + (1 - beta1) * g
      this.#variance[i] = beta2 * this.#variance[i]! + (1 - beta2) * g ** 2
      const mean = this.#mean[i]! / (1 - beta1 ** t)
      const variance = this.#variance[i]! / (1 - beta2 ** t)
      const decay = this.decays[i] ? weightDecay * this.weights[i]! : 0
      return -learningRate * (mean / (Math.sqrt(variance) + epsilon) + decay)
    })
    for (const [i, change] of changes.entries()) this.weights[i]! += change
    return { gradNorm, updateNorm: Math.hypot(...changes) }
  }
}

describe('adamStep', () => {
  const settings = fc.record({
    learningRate: fc.constantFrom(1e-4, 1e-2),
    beta1: fc.constantFrom(0, 0.9),
    beta2: fc.constantFrom(0.95, 0.999),
    epsilon: fc.constantFrom(1e-8, 1e-3),
    weightDecay: fc.constantFrom(0, 0.1),
    clipNorm: fc.constantFrom(0, 0.5, 100),
  })

  it('agrees with AdamW in float64 over several steps', () => {
    const check = (adam: AdamParams, seed: number) => {
      const parameters = makeParameters(seed)
      const random = randomStream(seed, 'gradients')
      const decays = [...parameters.values()].flatMap(({ data, decay }) => Array.from(data, () => decay))
      const reference = new Reference(
        floatsOf(parameters, ({ data }) => data),
        decays,
        adam,
      )
      for (let step = 1; step <= 4; step++) {
        for (const parameter of parameters.values()) {
          const gradient = gradientOf(parameter)
          for (let i = 0; i < gradient.length; i++) gradient[i] = i === 0 ? 0 : 0.3 * random.normal()
        }
        const expected = reference.step(floatsOf(parameters, gradientOf))
        const actual = adamStep(parameters, adam, step)
        expect(actual.gradNorm / expected.gradNorm).toBeCloseTo(1, 9)
        // A factor of clipNorm / (norm + 1e-6) and moments in float32 leave about six digits.
        expect(actual.updateNorm / expected.updateNorm).toBeCloseTo(1, 4)
        const weights = floatsOf(parameters, ({ data }) => data)
        for (const [i, weight] of weights.entries())
          expect(Math.abs(weight - reference.weights[i]!)).toBeLessThan(1e-6)
        expect(floatsOf(parameters, gradientOf).every((g) => g === 0)).toBe(true)
      }
      for (const parameter of parameters.values()) parameter.release()
    }
    fc.assert(fc.property(settings, fc.nat(), check), { seed: 1, numRuns: 30 })
  })

  it('without a gradient only decays, and a norm not even that', () => {
    const parameters = makeParameters(1)
    const before = new Map([...parameters].map(([name, { data }]) => [name, Float32Array.from(data)]))
    const { gradNorm } = adamStep(parameters, usual, 1)
    expect(gradNorm).toBe(0)
    expect(parameters.get('norm')!.data).toEqual(before.get('norm'))
    for (const [i, weight] of parameters.get('matrix')!.data.entries())
      expect(weight / before.get('matrix')![i]!).toBeCloseTo(1 - 1e-2 * 0.1, 6)
  })

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    'a gradient with %s is an error that changes no weight or moment, and is dropped',
    (bad) => {
      const parameters = makeParameters(2)
      const state = () => [
        floatsOf(parameters, ({ data }) => data),
        floatsOf(parameters, ({ training }) => training!.mean),
        floatsOf(parameters, ({ training }) => training!.variance),
      ]
      for (const parameter of parameters.values()) gradientOf(parameter).fill(0.5)
      adamStep(parameters, usual, 1)
      const before = state()
      for (const parameter of parameters.values()) gradientOf(parameter).fill(0.5)
      gradientOf(parameters.get('norm')!)[3] = bad

      expect(() => adamStep(parameters, { ...usual, clipNorm: 1 }, 2)).toThrow(NotFiniteError)
      expect(state()).toEqual(before)
      expect(floatsOf(parameters, gradientOf).every((g) => g === 0)).toBe(true)
    },
  )
})
