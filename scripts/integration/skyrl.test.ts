/** The suite of engines on a real SkyRL server: run by skyrl.sh, and skipped where there is none. */
import { join } from 'node:path'
import { describe, vi } from 'vitest'
import { projectRoot } from '../../src/core/paths.js'
import { openTinkerEngine } from '../../src/engine/tinker/index.js'
import { profiles } from '../../src/tinker/profile.js'
import { describeEngine } from '../../test/support/conformance.js'

// Programs are compiled when a shape comes for the first time.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 })

const targets = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj']

describe.skipIf(process.env.SPARRING_INTEGRATION !== 'skyrl')('a real server', () => {
  describeEngine('tinker, SkyRL', async () => openTinkerEngine(), {
    spec: {
      model: join(projectRoot(), 'models', 'tiny'),
      lora: { rank: 4, alpha: profiles.skyrl.alpha(4), targets },
      seed: 7,
    },
    capabilities: {
      name: 'tinker',
      exactEntropy: false,
      deterministic: false,
      temperedLoss: false,
      remote: true,
    },
    smallVocabulary: true,
    tolerance: 1e-4,
    lacks: ['weight decay of one policy'],
  })
})
