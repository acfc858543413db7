import { join } from 'node:path'
import { afterAll, beforeAll, describe, vi } from 'vitest'
import { projectRoot } from '../../src/core/paths.js'
import { openTinkerEngine } from '../../src/engine/tinker/index.js'
import { profiles } from '../../src/tinker/profile.js'
import { describeEngine } from '../support/conformance.js'
import { type Dialect, startTinkerServer, type TinkerServer } from '../tinker-server/index.js'

// Every sample is a request of its own here.
vi.setConfig({ testTimeout: 180_000 })

const model = join(projectRoot(), 'test', 'parity', 'fixtures', 'qwen2-untied', 'model')
const targets = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj']
const lacks: Partial<Record<Dialect, NonNullable<Parameters<typeof describeEngine>[2]['lacks']>>> = {
  skyrl: ['weight decay of one policy'],
  openrl: ['truncation', 'uneven clip bounds'],
}

describe.each(Object.keys(profiles) as Dialect[])('%s', (dialect) => {
  let server: TinkerServer
  const key = process.env.TINKER_API_KEY
  beforeAll(async () => {
    process.env.TINKER_API_KEY = 'tml-test'
    server = await startTinkerServer({ dialect, models: { fixture: model } })
  })
  afterAll(async () => {
    await server?.close()
    if (key === undefined) delete process.env.TINKER_API_KEY
    else process.env.TINKER_API_KEY = key
  })

  describeEngine(`tinker, ${dialect}`, async () => openTinkerEngine({ url: server.url }), {
    spec: { model, lora: { rank: 4, alpha: profiles[dialect].alpha(4), targets }, seed: 7 },
    capabilities: {
      name: 'tinker',
      exactEntropy: false,
      deterministic: false,
      temperedLoss: false,
      remote: true,
    },
    smallVocabulary: true,
    tolerance: 1e-4,
    lacks: lacks[dialect] ?? [],
  })
})
