import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../test/support/folders.js'
import { latestRunFolder, newRunFolder, RunDirectory } from './directory.js'

describe('the folder of a run', () => {
  it('is named after recipe and seed, and never used twice', async () => {
    const runs = join(temporaryFolder(), 'runs')
    expect(await latestRunFolder('a', 0, runs)).toBeUndefined()
    for (const name of ['a-seed0', 'a-seed0-2', 'a-seed0-3'])
      expect(await newRunFolder('a', 0, runs)).toBe(join(runs, name))
    expect(await newRunFolder('a', 1, runs)).toBe(join(runs, 'a-seed1'))
    mkdirSync(join(runs, 'a-seed0-10'))
    mkdirSync(join(runs, 'a-seed0-other'))
    expect(await latestRunFolder('a', 0, runs)).toBe(join(runs, 'a-seed0-10'))
  })

  it('is refused where it holds something else', async () => {
    const path = temporaryFolder()
    writeFileSync(join(path, 'notes.txt'), '')
    await expect(RunDirectory.open(path, false)).rejects.toMatchObject({
      code: 'config',
      message: `${path} is not empty.`,
    })
    await expect(RunDirectory.open(path, true)).rejects.toThrow('holds no run to resume')
  })

  it('is taken where a run died before it wrote anything', async () => {
    const path = temporaryFolder()
    mkdirSync(join(path, 'checkpoints'))
    writeFileSync(join(path, 'lock'), '')
    const run = await RunDirectory.open(path, false)
    run.close()
  })

  it('goes back to a round', async () => {
    const run = await RunDirectory.open(temporaryFolder(), false)
    for (const step of [0, 1, 2, 3]) {
      await run.writeRollouts(step, { solver: [{ step }] })
      await run.appendMetrics({ step, odd: Number.NaN as number })
    }
    mkdirSync(run.at('checkpoints', '000003.partial'))
    writeFileSync(run.at('metrics.jsonl'), '{"step":4', { flag: 'a' })
    expect(await run.rewind(1)).toEqual([
      { step: 0, odd: null },
      { step: 1, odd: null },
    ])
    expect(readFileSync(run.at('metrics.jsonl'), 'utf8')).toBe(
      '{"step":0,"odd":null}\n{"step":1,"odd":null}\n',
    )
    expect(() => readFileSync(run.at('rollouts/round-000002/solver.jsonl'))).toThrow('ENOENT')
    expect(readFileSync(run.at('rollouts/round-000001/solver.jsonl'), 'utf8')).toBe('{"step":1}\n')
    run.close()
  })

  it('says which folder cannot be made', async () => {
    const path = join(temporaryFolder(), 'file')
    writeFileSync(path, '')
    await expect(newRunFolder('a', 0, path)).rejects.toMatchObject({ code: 'checkpoint' })
  })
})
