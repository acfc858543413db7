import { describe, expect, it } from 'vitest'
import { scriptedContext, scriptedPolicy } from '../../../test/support/scripted.js'
import type { ChatMessage } from '../../engine/engine.js'
import { config as schema } from './config.js'
import { sft, sftOn } from './game.js'

const conversations = Array.from({ length: 10 }, (_, i): ChatMessage[] => [
  { role: 'user', content: `question ${i}` },
  { role: 'assistant', content: `answer ${i}`.padEnd(9 + i, '.') },
])

async function train(settings: object, rounds: number) {
  const student = scriptedPolicy(() => '')
  const game = sftOn(conversations)
  const config = schema.parse(settings)
  const reports = []
  for (let round = 0; round < rounds; round++) {
    const ctx = scriptedContext({ config, policies: { student }, round, rounds })
    const state = await game.setup(ctx)
    reports.push((await game.round(ctx, state)).report)
  }
  const seen = student.trained.map(({ data }) =>
    data.map(({ targets }) => Number(/answer (\d)/.exec(String.fromCharCode(...targets))![1])),
  )
  return { student, reports, seen }
}

const sorted = (numbers: number[]) => [...numbers].sort((a, b) => a - b)
const everyNumber = conversations.map((_, i) => i)

describe('sft', () => {
  it('sees every sequence once a pass, in another order each time, across the ends of passes', async () => {
    const { seen } = await train({ batch_size: 4 }, 5)
    expect(seen.map((batch) => batch.length)).toEqual([4, 4, 4, 4, 4])
    const row = seen.flat()
    expect(sorted(row.slice(0, 10))).toEqual(everyNumber)
    expect(sorted(row.slice(10))).toEqual(everyNumber)
    expect(row.slice(0, 10)).not.toEqual(row.slice(10))
  })

  it('divides by the trained tokens of the batch', async () => {
    const { student } = await train({ batch_size: 4 }, 1)
    const { data, loss } = student.trained[0]!
    expect(loss).toEqual({ name: 'cross_entropy' })
    const total = data.reduce((sum, { weights }) => sum + weights!.reduce((a, b) => a + b, 0), 0)
    expect(total).toBeCloseTo(1, 5)
  })

  it('stops training after the last epoch', async () => {
    const { student, reports } = await train({ batch_size: 5, epochs: 1 }, 3)
    expect(student.version).toBe(2)
    expect(reports[2]!.skipped).toBe('all epochs are done')
    expect(reports[1]!.metrics['data/epoch']).toBe(1)
  })

  it('measures what it holds out, and never trains it', async () => {
    const { seen, reports } = await train({ batch_size: 8, validation_share: 0.2, validate_every: 2 }, 3)
    expect(new Set(seen.flat()).size).toBe(8)
    expect(reports.map(({ metrics }) => metrics['student/validation_loss'])).toEqual([undefined, 0.5, 0.5])
  })

  it('leaves out what is too long and says so where nothing is left', async () => {
    const { reports } = await train({ max_tokens: 44 }, 1)
    const dropped = reports[0]!.metrics['data/dropped']!
    expect(dropped).toBeGreaterThan(0)
    expect(dropped).toBeLessThan(10)
    await expect(train({ max_tokens: 5 }, 1)).rejects.toMatchObject({ code: 'data' })
  })

  it('asks for data', async () => {
    const ctx = scriptedContext({ config: schema.parse({}), policies: { student: scriptedPolicy(() => '') } })
    await expect(sft.setup(ctx)).rejects.toMatchObject({ code: 'config' })
  })
})
