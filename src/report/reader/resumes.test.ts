import { describe, expect, it } from 'vitest'
import { JournalIndex } from './journal.js'
import type { Config } from './parts.js'
import { resumesOf } from './resumes.js'

function journal(rounds: number, records: Record<string, unknown>[]): JournalIndex {
  const index = new JournalIndex('.')
  for (let round = 0; round <= rounds; round++) {
    index.add({ kind: 'round', round })
    for (const record of records) if (record.round === round) index.add(record)
  }
  return index
}

const checkpoint = (round: number) => ({ kind: 'checkpoint', round, files: {} })
const alarm = (round: number, action: string) => ({
  kind: 'alarm',
  round,
  name: 'x',
  value: 1,
  threshold: 0,
  action,
})
const settings: Config = { checkpoint: { every: 10, snapshots: 4 }, anchors: { every: 3 } }

describe('resumesOf', () => {
  it('finds checkpoints that no setting asked for, with rounds behind them', () => {
    const index = journal(17, [0, 4, 7, 8, 10, 12, 16, 17].map(checkpoint))
    expect(resumesOf(index, settings)).toEqual([7])
    expect(resumesOf(index, { ...settings, checkpoint: {} })).toEqual([4, 7, 8, 12, 16])
  })

  it('takes none for one that may be kept for a rollback', () => {
    const index = journal(17, [0, 3, 6, 7].map(checkpoint))
    expect(resumesOf(index, { ...settings, alarms: { diversity_low: 'rollback' } })).toEqual([7])
    expect(resumesOf(index, settings)).toEqual([3, 6, 7])
  })

  it('finds alarms that ended the run, also those that could not take it back', () => {
    const records = [
      alarm(3, 'warn'),
      alarm(5, 'pause'),
      alarm(8, 'rollback'),
      alarm(9, 'rollback'),
      alarm(12, 'stop'),
    ]
    const back = { kind: 'rollback', round: 8, to: 4, alarm: 'x' }
    expect(resumesOf(journal(12, [...records, back]), settings)).toEqual([5, 9])
  })
})
