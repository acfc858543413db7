import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { projectRoot } from '../../src/core/paths.js'
import { collect } from '../../src/engine/engine.js'
import { openLocalEngine } from '../../src/engine/local/index.js'
import { convertLlama2c } from '../support/llama2c.js'
import { sampling } from '../support/sampling.js'

const source = join(projectRoot(), '..', 'shared', 'models', 'llama2c-stories260K')
const present = existsSync(join(source, 'stories260K.bin'))

/** A trained third-party checkpoint; the ids are those of the story printed in llama2.c's own documentation. */
it.skipIf(!present)(
  `stories260K tells its known story${present ? '' : ' (skipped: shared/models is not beside the project)'}`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sparring-stories-'))
    const engine = await openLocalEngine({ threads: 1 })
    try {
      await convertLlama2c(join(source, 'stories260K.bin'), join(source, 'tok512.bin'), folder)
      const policy = await engine.open({ model: folder, seed: 0 })
      const request = { prompt: Int32Array.of(1), n: 1, seed: 0 }
      const params = sampling({ temperature: 0, maxTokens: 20 })
      const [rollout] = await collect(policy.sample([request], params))
      expect(Array.from(rollout!.tokens)).toEqual([
        403, 407, 261, 378, 432, 383, 286, 261, 376, 298, 315, 421, 395, 317, 426, 338, 401, 396, 267, 337,
      ])
    } finally {
      await engine.close()
      rmSync(folder, { recursive: true })
    }
  },
)
