import { describe, expect, it } from 'vitest'
import { fakeEngine } from '../../test/support/fake-engine.js'
import { fakeParts } from '../../test/support/fake-parts.js'
import { evaluate } from './evaluate.js'
import { policyAnswerer } from './policy-answerer.js'

const problems = Array.from({ length: 150 }, (_, i) => ({ problem: `${i}+1=?`, answer: `${(i + 1) % 10}` }))

async function measure(
  options: { samples?: number; temperature?: number; seed?: number; signal?: AbortSignal } = {},
) {
  const parts = fakeParts()
  const policy = await fakeEngine().open({ model: '', seed: 3 })
  const steps: number[] = []
  const report = await evaluate(policyAnswerer(policy), problems, {
    grader: await parts.createGrader(),
    prompt: (problem) => ({ messages: [{ role: 'user', content: problem }] }),
    samples: 2,
    temperature: 1,
    maxTokens: 8,
    seed: 1,
    progress: (done) => steps.push(done),
    ...options,
  })
  return { report, steps }
}

describe('an evaluation', () => {
  it('averages the samples of each problem', async () => {
    const { report, steps } = await measure()
    const { records, n, samples, accuracy, low, high } = report
    expect({ n, samples, records: records.length }).toEqual({ n: 150, samples: 2, records: 300 })
    expect(records.map(({ problem }) => problem)).toEqual(
      problems.flatMap(({ problem }) => [problem, problem]),
    )
    expect(accuracy).toBeCloseTo(records.filter(({ right }) => right).length / 300, 12)
    expect(accuracy).toBeGreaterThan(0)
    expect(accuracy).toBeLessThan(1)
    expect(low).toBeLessThan(accuracy)
    expect(high).toBeGreaterThan(accuracy)
    expect(steps).toEqual([64, 128, 150])
  })

  it('draws the same samples for the same seed', async () => {
    const texts = async (seed: number) => (await measure({ seed })).report.records.map(({ text }) => text)
    expect(await texts(1)).toEqual(await texts(1))
    expect(await texts(2)).not.toEqual(await texts(1))
  })

  it('ends when it is told to', async () => {
    await expect(measure({ signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' })
  })
})
