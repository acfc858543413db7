import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { projectRoot } from '../../core/paths.js'
import { type LocalEngine, openLocalEngine } from './index.js'

let engine: LocalEngine
beforeAll(async () => {
  engine = await openLocalEngine({ threads: 1 })
  await engine.open({ model: join(projectRoot(), 'models', 'tiny'), seed: 0 })
})
afterAll(() => engine.close())

const load = (longestSequence: number) => ({ trainTokens: 4096, longestSequence, sampleRows: 16 })

it('refuses sequences beyond the positions of the model', async () => {
  await expect(engine.planMemory(load(1025))).rejects.toMatchObject({
    code: 'config',
    message: expect.stringContaining('1024 positions'),
  })
  await expect(engine.planMemory(load(1024))).resolves.toBeDefined()
})

it('counts optimizer and gradients as three times the trained weights', async () => {
  const { parts } = await engine.planMemory(load(256))
  const bytes = Object.fromEntries(parts.map(({ what, bytes }) => [what, bytes]))
  expect(bytes['gradients and optimizer']).toBe(3 * bytes.weights!)
})
