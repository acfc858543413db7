import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Engine } from '../../src/engine/engine.js'
import { openLocalEngine } from '../../src/engine/local/index.js'
import { readSafetensorsFolder } from '../support/safetensors.js'
import { openReference, reference, relativeError } from './reference.js'

let engine: Engine
const folder = mkdtempSync(join(tmpdir(), 'sparring-adamw-'))
beforeAll(async () => {
  engine = await openLocalEngine({ threads: 1 })
})
afterAll(async () => {
  await engine.close()
  rmSync(folder, { recursive: true })
})

const files = {
  full: { prefix: 'model', stem: '' },
  lora: { prefix: 'adapter_model', stem: 'base_model.model.' },
}

describe.each(['full', 'lora'] as const)('AdamW of PyTorch, three clipped steps, %s', (what) => {
  const stored = reference('qwen3-tied')
  const { data, steps, change } = stored.adamw[what]!
  const { prefix, stem } = files[what]
  const target = join(folder, what)

  it('reports the same losses and norms and arrives at the same weights', async () => {
    const policy = await openReference(engine, stored, what)
    const first = policy.version
    for (const [i, step] of steps.entries()) {
      for (const [call, members] of step.calls.entries()) {
        const report = await policy.forwardBackward(
          members.map((m) => data[m]!),
          { name: 'cross_entropy' },
        )
        expect(report.loss / step.losses[call]!).toBeCloseTo(1, 4)
      }
      const report = await policy.optimStep(step.adam)
      expect(report.gradNorm / step.gradNorm).toBeCloseTo(1, 3)
      expect(report.updateNorm / step.updateNorm).toBeCloseTo(1, 3)
      expect(report.version).toBe(first + i + 1)
      expect(policy.version).toBe(report.version)
    }
    await policy.save(target)
    await policy.close()

    const before = readSafetensorsFolder(what === 'full' ? stored.model : stored.adapter, prefix)
    const after = readSafetensorsFolder(target, prefix)
    const errors = [...change].map(([name, expected]) => {
      const start = before.get(stem + name)!.values
      const end = after.get(stem + name)?.values ?? []
      return [
        name,
        relativeError(
          Float32Array.from(end, (value, i) => value - start[i]!),
          expected,
        ),
      ] as const
    })
    expect(errors.filter(([, error]) => !(error < 1e-2))).toEqual([])
  })
})
