import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BigRun } from '../../test/support/big-run.js'
import { sparring } from '../../test/support/command.js'
import { temporaryFolder } from '../../test/support/folders.js'

function workplace() {
  const cwd = temporaryFolder()
  BigRun.write(join(cwd, 'run'), { rounds: 2 })
  const metrics = (...args: string[]) => sparring(['metrics', ...args], { cwd })
  return { cwd, metrics, has: (name: string) => existsSync(join(cwd, name)) }
}

describe('sparring metrics', () => {
  it('chooses the form by the path, and a name in a folder', async () => {
    const { cwd, metrics, has } = workplace()
    mkdirSync(join(cwd, 'here'))
    const says = async (...args: string[]) => (await metrics('run', ...args)).stdout.trim()
    expect(await says('--to', 'a.csv')).toMatch(/^a\.csv \(csv, 3 rows of \d+ metrics\)$/)
    expect(await says('--to', 'here', '--rollouts')).toBe(
      `${join('here', 'rollouts.parquet')} (parquet, 200 rollouts)`,
    )
    expect(JSON.parse(await says('--to', 'board', '--json'))).toEqual({
      event: 'metrics',
      run: 'run',
      to: 'board',
      form: 'tensorboard',
      rows: 3,
    })
    expect(['a.csv', 'here/rollouts.parquet', 'board/events.out.tfevents.sparring'].map(has)).toEqual([
      true,
      true,
      true,
    ])
  })

  it('says what cannot be done', async () => {
    const { cwd, metrics } = workplace()
    mkdirSync(join(cwd, 'new', 'checkpoints'), { recursive: true })
    writeFileSync(join(cwd, 'new/config.json'), '{}')
    const refused = async (...args: string[]) => {
      const { status, stderr } = await metrics(...args)
      return `${status} ${stderr.split('\n')[0]}`
    }
    expect(await refused('run', '--to', 'a.csv', '--form', 'csv', '--rollouts')).toBe(
      '2 error: Rollouts are not written as csv.',
    )
    expect(await refused('.', '--to', 'a.csv')).toBe('2 error: . is not the folder of a run.')
    expect(await refused('new', '--to', 'a.csv')).toBe('2 error: new has no metrics.')
    expect(await refused('run', '--to', 'run/config.json/a.csv')).toMatch(
      /^2 error: run\/config\.json\/a\.csv cannot be written: /,
    )
    expect(await refused('run')).toMatch(/^2 error: Required option '--to <path>' not specified/)
  })
})
