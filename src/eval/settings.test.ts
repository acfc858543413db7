import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../test/support/folders.js'
import { projectRoot } from '../core/paths.js'
import { protocolFor, protocolOf } from './protocols.js'
import { differences, type EvalSettings } from './settings.js'
import { weightsSum } from './weights.js'

const settings: EvalSettings = {
  benchmark: { name: 'gsm8k', kind: 'maths', problems: 5 },
  data: { source: 'x', files: [{ name: 'a', sha256: '1' }], unfit: 0, repeated: 0, sha256: '2' },
  model: { name: 'm', address: 'http://here/v1' },
  protocol: protocolFor(
    protocolOf('gar', (problem) => ({ messages: [{ role: 'user', content: problem }] })),
    new Set(['maths']),
  ),
}

describe('settings', () => {
  it('are the same after a way through JSON, wherever a model folder lies', () => {
    expect(differences(settings, JSON.parse(JSON.stringify(settings)))).toEqual([])
    expect(differences(settings, { ...settings, model: { name: 'm', address: 'http://there/v1' } })).toEqual([
      'model.address "http://there/v1" instead of "http://here/v1"',
    ])
    const local = (name: string, weights: string) => ({ ...settings, model: { name, weights } })
    expect(differences(local('a', '1'), local('b', '1'))).toEqual([])
    expect(differences(local('a', '1'), local('a', '2'))).toEqual(['model.weights "2" instead of "1"'])
  })

  it('are the same for the same problems, however their file is named, but not for other tests of code', () => {
    const renamed = {
      ...settings,
      benchmark: { ...settings.benchmark, name: './copy.jsonl' },
      data: { ...settings.data, source: 'copy.jsonl', files: [{ name: 'copy.jsonl', sha256: '5' }] },
    }
    expect(differences(settings, renamed)).toEqual([])
    const code = (each: EvalSettings) => ({
      ...each,
      benchmark: { ...each.benchmark, kind: 'code' as const },
    })
    expect(differences(code(settings), code(renamed))).toEqual(['data.files ["5"] instead of ["1"]'])
  })

  it('differ by name, values quoted where they are short', () => {
    const { data, protocol } = settings
    const other = {
      ...settings,
      data: { ...data, sha256: 'f'.repeat(64) },
      protocol: { ...protocol, seed: 3, grader: { ...protocol.grader, tolerance: 0.1 } },
    }
    expect(differences(settings, other)).toEqual([
      'another data.sha256',
      'protocol.seed 3 instead of 0',
      'protocol.grader.tolerance 0.1 instead of 0.000001',
    ])
    expect(differences(settings, {})).toContain('benchmark.kind none instead of "maths"')
  })
})

describe('the sum of weights', () => {
  it('is the same for a copy and another after a step', async () => {
    const tiny = join(projectRoot(), 'models/tiny')
    const copy = join(temporaryFolder(), 'copy')
    cpSync(tiny, copy, { recursive: true })
    const sum = await weightsSum(tiny)
    expect(await weightsSum(copy)).toBe(sum)
    const path = join(copy, 'model.safetensors')
    const bytes = readFileSync(path)
    const header = Number(bytes.readBigUInt64LE(0))
    for (let at = 8 + header; at + 4 <= bytes.length; at += 4)
      bytes.writeFloatLE(bytes.readFloatLE(at) * 1.001, at)
    writeFileSync(path, bytes)
    expect(await weightsSum(copy)).not.toBe(sum)
    expect(await weightsSum(join(tiny, 'base'))).not.toBe(sum)
  })
})
