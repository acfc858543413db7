import { join } from 'node:path'
import { projectRoot } from '../../src/core/paths.js'
import { openLocalEngine } from '../../src/engine/local/index.js'
import { describeEngine } from '../support/conformance.js'

const fixtures = join(projectRoot(), 'test', 'parity', 'fixtures')
const options = {
  capabilities: { name: 'local', exactEntropy: true, deterministic: true, temperedLoss: true },
  smallVocabulary: true,
  tolerance: 1e-4,
}

describeEngine('local, full weights', () => openLocalEngine({ threads: 2 }), {
  ...options,
  spec: { model: join(fixtures, 'qwen3-tied', 'model'), seed: 0 },
})

describeEngine('local, LoRA', () => openLocalEngine({ threads: 2 }), {
  ...options,
  spec: {
    model: join(fixtures, 'qwen2-untied', 'model'),
    lora: { rank: 4, alpha: 8, targets: ['q_proj', 'v_proj', 'down_proj'] },
    seed: 7,
  },
})

/** Batches of three rows, micro-batches of one sequence, and recomputation in the backward pass. */
const cramped = { threads: 2, maxRows: 3, tokenBudget: 16, activationBytes: 0 }

describeEngine('local, with little memory', () => openLocalEngine(cramped), {
  ...options,
  spec: { model: join(fixtures, 'llama-rope31', 'model'), seed: 0 },
})
