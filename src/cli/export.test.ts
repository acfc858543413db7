/** Exports of what a server keeps: what is said where its model is missing or damaged. */
import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { temporaryFolder } from '../../test/support/folders.js'
import { startTinkerServer } from '../../test/tinker-server/index.js'
import { projectRoot } from '../core/paths.js'
import { openTinkerEngine } from '../engine/tinker/index.js'
import { exportFetched } from './export.js'

const model = join(projectRoot(), 'test/parity/fixtures/qwen2-untied/model')
const targets = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj']

it('merges with the model folder of the run file, and speaks of no other folder', async () => {
  const root = temporaryFolder()
  vi.stubEnv('TINKER_API_KEY', 'tml-test')
  vi.stubEnv('HF_HUB_CACHE', join(root, 'cache'))
  onTestFinished(() => {
    vi.unstubAllEnvs()
  })
  const server = await startTinkerServer({ dialect: 'hosted', models: { 'some/base': model } })
  onTestFinished(() => server.close())
  const own = join(root, 'models/mine')
  cpSync(model, own, { recursive: true, dereference: true })
  const engine = openTinkerEngine({ url: server.url, dialect: 'hosted' })
  const lora = { rank: 4, alpha: 32, targets }
  const policy = await engine.open({ model: own, lora, seed: 7, remote: { name: 'models/mine' } })
  const checkpoint = join(root, 'role')
  await policy.save(checkpoint)
  await engine.close()

  const merge = () => exportFetched(checkpoint, join(root, 'merged'), { form: 'merged', force: true })
  expect(await merge()).toEqual({ form: 'merged', base: own })
  const weights = readdirSync(own).filter((name) => name.endsWith('.safetensors'))
  for (const name of weights) writeFileSync(join(own, name), 'nothing')
  const damaged = await merge().catch((error) => error)
  expect(damaged.message).toContain(own)
  for (const name of weights) rmSync(join(own, name))
  const missing = await merge().catch((error) => error)
  expect(missing.message).toBe(`${checkpoint} is an adapter of some/base, whose weights are not here.`)
  expect(missing.hint).toBe('Fetch them: sparring pull some/base.')
  for (const { message } of [damaged, missing]) expect(message).not.toContain('fetched-')
  expect(readdirSync(root).sort()).toEqual(['merged', 'models', 'role'])
})
