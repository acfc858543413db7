import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Engine } from '../../src/engine/engine.js'
import { openLocalEngine } from '../../src/engine/local/index.js'
import { largestDifference } from '../support/sampling.js'
import { checkpoints, openReference, type ReferenceCase, reference, relativeError } from './reference.js'

let engine: Engine
/** Micro-batches of few tokens, and nothing kept for the backward pass that can be computed again. */
let cramped: Engine
beforeAll(async () => {
  engine = await openLocalEngine({ threads: 1 })
  cramped = await openLocalEngine({ threads: 1, tokenBudget: 20, activationBytes: 0 })
})
afterAll(async () => {
  await engine.close()
  await cramped.close()
})

/** Parameters whose gradient is off by more than a thousandth of its largest entry, with the error. */
function wrongGradients(actual: Map<string, Float32Array>, { gradients }: ReferenceCase) {
  const errors = [...gradients].map(([name, expected]) => [
    name,
    relativeError(actual.get(name) ?? [], expected),
  ])
  return errors.filter(([, error]) => !((error as number) < 1e-3))
}

describe.each(checkpoints)('%s: losses and gradients of PyTorch', (checkpoint) => {
  const stored = reference(checkpoint)

  it.each(stored.cases)('$name', async (entry) => {
    const policy = await openReference(engine, stored, entry.what)
    const report = await policy.forwardBackward(entry.data, entry.loss)
    const gradients = await policy.gradients()
    await policy.close()

    expect(Math.abs(report.loss - entry.value)).toBeLessThan(1e-4 * Math.max(1, Math.abs(entry.value)))
    expect(wrongGradients(gradients, entry)).toEqual([])
    expect([...gradients.keys()].sort()).toEqual([...entry.gradients.keys()].sort())
    const trained = entry.data.map((d) =>
      Array.from(d.targets, (_, t) => (d.weights?.[t] || d.advantages?.[t] || 0) !== 0),
    )
    expect(report.tokens).toBe(trained.flat().filter(Boolean).length)
    for (const [i, mask] of trained.entries()) {
      const kept = (values: Float32Array) => values.filter((_, t) => mask[t])
      expect(largestDifference(kept(report.logprobs[i]!), kept(entry.logprobs[i]!))).toBeLessThan(1e-4)
      expect(report.logprobs[i]!.every((value, t) => Number.isNaN(value) === !mask[t])).toBe(true)
    }
    expect(report.ratio?.mean).toSatisfy(near(entry.ratio?.mean))
    expect(report.ratio?.max).toSatisfy(near(entry.ratio?.max))
  })

  it.each(stored.cases.filter(({ name }) => name.includes('ppo-0.6-kl')))(
    '$name, with little memory',
    async (entry) => {
      const policy = await openReference(cramped, stored, entry.what)
      const report = await policy.forwardBackward(entry.data, entry.loss)
      const gradients = await policy.gradients()
      await policy.close()
      expect(Math.abs(report.loss - entry.value)).toBeLessThan(1e-4 * Math.max(1, Math.abs(entry.value)))
      expect(wrongGradients(gradients, entry)).toEqual([])
    },
  )

  it('adds up over calls, whatever the order and the company of the sequences', async () => {
    const entry = stored.cases[0]!
    const policy = await openReference(engine, stored, 'full')
    const losses: number[] = []
    for (const part of [[3, 1], [2], [0]]) {
      losses.push(
        (
          await policy.forwardBackward(
            part.map((i) => entry.data[i]!),
            entry.loss,
          )
        ).loss,
      )
    }
    const gradients = await policy.gradients()
    await policy.close()
    expect(Math.abs(losses.reduce((a, b) => a + b) - entry.value)).toBeLessThan(1e-4 * Math.abs(entry.value))
    expect(wrongGradients(gradients, entry)).toEqual([])
  })
})

const near = (expected: number | undefined) => (actual: number | undefined) =>
  actual === expected || Math.abs(actual! - expected!) < 1e-3
