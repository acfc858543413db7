import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BigRun } from '../../../test/support/big-run.js'
import { temporaryFolder } from '../../../test/support/folders.js'
import type { Coverage } from '../api/rollouts.js'
import { RolloutStore } from './store.js'

const ROUNDS = 12

async function storeOf(most: number): Promise<RolloutStore> {
  const folder = join(temporaryFolder(), 'run')
  BigRun.write(folder, { rounds: ROUNDS })
  const store = new RolloutStore(folder, most)
  await store.list(ROUNDS)
  return store
}

/** Asked again while there is more to come: a busy machine reads little in the time that one question waits. */
async function read(store: RolloutStore, rounds: number[], role: string): Promise<Coverage> {
  let coverage = await store.read(rounds, role)
  while (coverage.read < coverage.of && !coverage.ends) coverage = await store.read(rounds, role)
  return coverage
}

describe('RolloutStore', () => {
  it('reads as many rounds as fit into its memory, the newest, and says that it reads no more', async () => {
    const whole = await storeOf(2 ** 20)
    const rounds = whole.within()
    expect(await read(whole, rounds, 'solver')).toEqual({ read: ROUNDS, of: ROUNDS })
    const each = (await whole.block(1, 'solver')).bytes
    const small = await storeOf(5 * each)
    const coverage = await read(small, rounds, 'solver')
    expect(coverage).toEqual({ read: 5, of: ROUNDS, ends: 'memory' })
    expect(await read(small, rounds, 'solver')).toEqual(coverage)
    expect([...small.files(rounds, 'solver')].map(({ round }) => round)).toEqual([12, 11, 10, 9, 8])
    expect(await read(small, small.within(1, 4), 'solver')).toEqual({ read: 4, of: 4 })
    expect(await read(small, small.within(1, 4), 'proposer')).toEqual({ read: 4, of: 4 })
  })
})
