import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fakeRun } from '../../../test/support/fake-run.js'
import { temporaryFolder } from '../../../test/support/folders.js'
import { readResumes } from './resumes.js'

describe('readResumes', () => {
  it('tells where a run was gone on with', async () => {
    const run = join(temporaryFolder(), 'run')
    await fakeRun(run, { rounds: 3 })
    expect(await readResumes(run)).toEqual([])
    await fakeRun(run, { rounds: 5, resume: true })
    await fakeRun(run, { rounds: 6, resume: true })
    await fakeRun(run, { rounds: 6, resume: true })
    expect(await readResumes(run)).toEqual([3, 5, 6])
  })

  it('leaves out what is damaged, and half a line', async () => {
    const root = temporaryFolder()
    writeFileSync(
      join(root, 'resumes.jsonl'),
      '{"round":9}\n{"round":\n{"round":"x"}\n[]\n{"round":4}\n{"round":9}\n{"round":12',
    )
    expect(await readResumes(root)).toEqual([4, 9])
  })
})
