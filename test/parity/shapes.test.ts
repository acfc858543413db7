import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { projectRoot } from '../../src/core/paths.js'
import type { Engine } from '../../src/engine/engine.js'
import { readModelConfig } from '../../src/engine/hf/config.js'
import { modelParameters } from '../../src/engine/hf/parameters.js'
import { openLocalEngine } from '../../src/engine/local/index.js'
import { temporaryFolder } from '../support/folders.js'
import { largestDifference } from '../support/sampling.js'
import { large, shapes, small, writeStandIn } from './shapes.js'

const reference: Record<string, { tokens: number[]; logprobs: number[] }> = JSON.parse(
  readFileSync(join(projectRoot(), 'test/parity/released/fixtures/shapes.json'), 'utf8'),
)

describe('the configuration of released models', () => {
  it.each(Object.entries(shapes))('%s: every weight and every end is known', async (_, shape) => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'config.json'), JSON.stringify(shape.config))
    writeFileSync(join(folder, 'generation_config.json'), JSON.stringify({ eos_token_id: shape.ends }))
    const config = await readModelConfig(folder)
    const counts = modelParameters(config).map(({ shape }) => shape.reduce((a, b) => a * b, 1))
    expect(counts.reduce((a, b) => a + b, 0)).toBe(shape.parameters)
    expect(config.eosIds).toEqual(expect.arrayContaining([shape.ends].flat()))
  })
})

describe('stand-ins for released models', () => {
  let engine: Engine
  beforeAll(async () => {
    engine = await openLocalEngine({ threads: 1 })
  })
  afterAll(() => engine.close())

  const all = process.env.SPARRING_LARGE_SHAPES === '1'

  it.skipIf(all)('the large ones are skipped unless SPARRING_LARGE_SHAPES=1', ({ skip }) => skip())

  it.each(all ? [...small, ...large] : small)(
    '%s: shards of bfloat16 load, and score as in transformers',
    async (name) => {
      const folder = temporaryFolder()
      await writeStandIn(name, folder)
      expect(readdirSync(folder)).toContain('model.safetensors.index.json')
      const policy = await engine.open({ model: folder, seed: 0 })
      expect(policy.tokenizer.eosIds.length).toBeGreaterThan(0)
      const { tokens, logprobs } = reference[name]!
      const sequence = {
        tokens: Int32Array.from(tokens.slice(0, -1)),
        targets: Int32Array.from(tokens.slice(1)),
      }
      const [scores] = await policy.logprobs([sequence])
      await policy.close()
      expect(largestDifference(scores!, logprobs)).toBeLessThan(1e-4)
    },
    120_000,
  )
})
