import { join } from 'node:path'
import { projectRoot } from '../../src/core/paths.js'
import { openLocalEngine } from '../../src/engine/local/index.js'
import { describeEngine } from '../support/conformance.js'

const fixtures = join(projectRoot(), 'test', 'parity', 'fixtures')
const open = () => openLocalEngine({ threads: 2 })
const options = {
  capabilities: { name: 'local', exactEntropy: true, deterministic: true, temperedLoss: true },
  smallVocabulary: true,
  tolerance: 1e-4,
}

describeEngine('local, full weights', open, {
  ...options,
  spec: { model: join(fixtures, 'qwen3-tied', 'model'), seed: 0 },
})

describeEngine('local, LoRA', open, {
  ...options,
  spec: {
    model: join(fixtures, 'qwen2-untied', 'model'),
    lora: { rank: 4, alpha: 8, targets: ['q_proj', 'v_proj', 'down_proj'] },
    seed: 7,
  },
})
