import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
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

  it('is refused where it cannot be made', async () => {
    const path = join(temporaryFolder(), 'notes.txt')
    writeFileSync(path, '')
    for (const run of [path, join(path, 'within'), join(path, 'x'.repeat(300))]) {
      const refused = {
        code: 'config',
        message: expect.stringContaining(`${run} cannot be the folder of a run`),
      }
      await expect(RunDirectory.open(run, false)).rejects.toMatchObject(refused)
    }
    await expect(newRunFolder('a', 0, path)).rejects.toMatchObject({ code: 'config' })
    await expect(newRunFolder('x'.repeat(300), 0, temporaryFolder())).rejects.toMatchObject({
      code: 'config',
    })
  })

  it('is refused where its lock cannot be written', async () => {
    const path = temporaryFolder()
    mkdirSync(join(path, 'lock', 'within'), { recursive: true })
    // A folder in the place of the lock is never a lock that a dead process left.
    await expect(RunDirectory.open(path, false)).rejects.toMatchObject({ code: 'config' })
  })

  it('is taken where a run died before it wrote anything', async () => {
    const path = temporaryFolder()
    mkdirSync(join(path, 'checkpoints'))
    writeFileSync(join(path, 'lock'), '')
    mkdirSync(join(path, 'tinker'))
    const run = await RunDirectory.open(path, false)
    run.close()
    expect(existsSync(path)).toBe(true)
  })

  it('is gone again where the run never began, if it was not there before', async () => {
    const root = temporaryFolder()
    const runs = join(root, 'runs')
    for (const open of [
      () => RunDirectory.open(join(runs, 'a'), false),
      () => RunDirectory.openNew('a', 0, runs),
    ]) {
      const run = await open()
      mkdirSync(run.at('tinker'))
      run.close()
      expect(readdirSync(runs)).toEqual([])
    }
    const begun = await RunDirectory.openNew('a', 0, runs)
    await begun.writeConfig({})
    begun.close()
    expect(readdirSync(begun.path).sort()).toEqual(['checkpoints', 'config.json'])
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
})
