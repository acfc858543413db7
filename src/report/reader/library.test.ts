import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BigRun } from '../../../test/support/big-run.js'
import { fakeRun } from '../../../test/support/fake-run.js'
import { temporaryFolder } from '../../../test/support/folders.js'
import { ConfigError } from '../../core/errors.js'
import { Library } from './library.js'

const ids = async (library: Library) => (await library.list()).runs.map(({ id }) => id).sort()

describe('Library', () => {
  it('finds runs and sweeps of runs, and takes neither model folders nor what lies outside for one', async () => {
    const folder = temporaryFolder()
    const outside = temporaryFolder()
    BigRun.write(join(folder, 'a'), { rounds: 1 })
    BigRun.write(join(folder, 'sweep', 'b, with: signs'), { rounds: 1 })
    BigRun.write(join(outside, 'secret'), { rounds: 1 })
    mkdirSync(join(folder, 'model'))
    writeFileSync(join(folder, 'model', 'config.json'), '{"model_type":"qwen3"}')
    symlinkSync(join(outside, 'secret'), join(folder, 'link-out'))
    symlinkSync(join(folder, 'sweep'), join(folder, 'link-in'))
    symlinkSync('nowhere', join(folder, 'link-broken'))
    symlinkSync('.', join(folder, 'link-loop'))
    writeFileSync(join(folder, 'notes.txt'), '')
    const library = await Library.at(folder)
    const found = await ids(library)
    expect(found.filter((id) => !id.startsWith('link-loop'))).toEqual([
      'a',
      'link-in/b, with: signs',
      'sweep/b, with: signs',
    ])
    expect((await library.list()).skipped).toBeGreaterThan(0)
    expect(await library.open('link-out')).toBeUndefined()
    expect(await library.open('../secret')).toBeUndefined()
    expect((await library.open('sweep/b, with: signs'))!.summary().game).toBe('pasodoble')
  })

  it('takes a run for a library of one, and refuses what is no folder', async () => {
    const folder = temporaryFolder()
    BigRun.write(join(folder, 'alone'), { rounds: 1 })
    expect(await ids(await Library.at(join(folder, 'alone')))).toEqual(['alone'])
    await expect(Library.at(join(folder, 'nothing'))).rejects.toThrow(ConfigError)
    await expect(Library.at(join(folder, 'alone', 'config.json'))).rejects.toThrow('is a file, not a folder')
  })

  it('reads no file through a link, and none that is no file', async () => {
    const folder = temporaryFolder()
    const run = join(folder, 'run')
    BigRun.write(run, { rounds: 2 })
    const rollouts = join(run, 'rollouts', 'round-000001')
    const text = readFileSync(join(rollouts, 'solver.jsonl'))
    writeFileSync(join(folder, 'elsewhere.jsonl'), text)
    rmSync(join(rollouts, 'solver.jsonl'))
    symlinkSync(join(folder, 'elsewhere.jsonl'), join(rollouts, 'solver.jsonl'))
    if (process.platform !== 'win32') {
      execFileSync('mkfifo', [join(rollouts, 'pipe.jsonl')])
      execFileSync('mkfifo', [join(run, 'lock')])
    }
    mkdirSync(join(rollouts, 'folder.jsonl'))
    const reader = (await (await Library.at(folder)).open('run'))!
    const roles = ['solver', 'pipe', 'folder', 'proposer']
    const totals = await Promise.all(
      roles.map(async (role) => (await reader.rollouts({ role, to: 1 })).total),
    )
    expect(totals).toEqual([0, 0, 0, 16])
  })

  it('counts damaged lines of rollouts and shows the others', async () => {
    const folder = temporaryFolder()
    BigRun.write(join(folder, 'run'), { rounds: 1 })
    const file = join(folder, 'run', 'rollouts', 'round-000001', 'proposer.jsonl')
    const lines = readFileSync(file, 'utf8').split('\n')
    lines[1] = lines[1]!.slice(0, 40)
    writeFileSync(file, `${lines.join('\n')}{"role":"proposer","gro`)
    const reader = (await (await Library.at(folder)).open('run'))!
    const { rows, total } = await reader.rollouts({ role: 'proposer', order: 'old' })
    expect(total).toBe(15)
    expect(rows.slice(0, 2).map(({ line }) => line)).toEqual([0, 2])
    expect((await reader.detail()).damaged).toEqual([
      { file: 'rollouts/round-000001/proposer.jsonl', lines: 1 },
    ])
    expect(await reader.rollout({ round: 1, role: 'proposer', line: 1 })).toBeUndefined()
    expect((await reader.rollout({ round: 1, role: 'proposer', line: 2 }))!.line).toBe(2)
  })

  it('shows the beginning of what is long, and all of it where a rollout is asked for alone', async () => {
    const folder = temporaryFolder()
    BigRun.write(join(folder, 'run'), { rounds: 1 })
    const file = join(folder, 'run', 'rollouts', 'round-000001', 'solver.jsonl')
    const long = '<b>\u202e\u0000'.repeat(300_000)
    const record = { ...JSON.parse(readFileSync(file, 'utf8').split('\n')[0]!), text: long, prompt: long }
    record.parts.question = long
    writeFileSync(file, `${JSON.stringify(record)}\n`)
    const reader = (await (await Library.at(folder)).open('run'))!
    const ref = { round: 1, role: 'solver', line: 0 }
    const [answer] = (await reader.match(ref))!.answers
    expect([answer!.text.length, answer!.cut, answer!.promptCut]).toEqual([20_000, long.length, long.length])
    expect(JSON.stringify(answer).length).toBeLessThan(400_000)
    const whole = (await reader.rollout(ref))!
    expect([whole.text === long, whole.prompt === long, whole.cut]).toEqual([true, true, null])
    expect((await reader.rollouts({ role: 'solver' })).rows[0]!.text).toBe(long.slice(0, 300))
    expect((await reader.rollouts({ text: '<b>\u202e\u0000<B>' })).rows.map(({ role }) => role)).toEqual([
      'solver',
    ])
  })

  it('survives a config that is damaged, or of another shape', async () => {
    const folder = temporaryFolder()
    for (const [name, text] of Object.entries({
      cut: '{"game": "pas',
      odd: '{"game":7,"roles":["x",null],"settings":null,"rounds":"many","alarms":{"labels_wrong":9}}',
      empty: '',
    })) {
      BigRun.write(join(folder, name), { rounds: 10, alarm: 5 })
      writeFileSync(join(folder, name, 'config.json'), text)
    }
    const library = await Library.at(folder)
    const { runs } = await library.list()
    expect(Object.fromEntries(runs.map(({ id, game, fault }) => [id, [game, fault]]))).toEqual({
      cut: [null, 'config.json is damaged'],
      empty: [null, 'config.json is damaged'],
      odd: [null, null],
    })
    for (const { id } of runs) {
      const reader = (await library.open(id))!
      expect((await reader.detail()).metrics.length).toBeGreaterThan(50)
      let { rows } = await reader.rollouts({ limit: 1 })
      // A busy machine reads nothing in the time that one question waits.
      while (rows.length === 0) rows = (await reader.rollouts({ limit: 1 })).rows
      expect((await reader.match(rows[0]!))!.answers).toHaveLength(1)
    }
  })
})

describe('status', () => {
  const statusOf = async (folder: string) => (await (await Library.at(folder)).list()).runs[0]!.status

  it('is finished, stopped or crashed by what the run left', async () => {
    const folder = temporaryFolder()
    const run = join(folder, 'run')
    await fakeRun(run, { rounds: 3 })
    expect(await statusOf(folder)).toBe('finished')
    const journal = readFileSync(join(run, 'journal.jsonl'), 'utf8')
    writeFileSync(join(run, 'journal.jsonl'), journal.replace(/[^\n]*"checkpoint"[^\n]*\n$/, ''))
    expect(await statusOf(folder)).toBe('crashed')
    writeFileSync(join(run, 'lock'), JSON.stringify({ pid: 2 ** 22 + 1, started: '', host: hostname() }))
    expect(await statusOf(folder)).toBe('crashed')
    writeFileSync(join(run, 'lock'), JSON.stringify({ pid: process.pid, started: '', host: hostname() }))
    expect(await statusOf(folder)).toBe('running')

    const stopped = temporaryFolder()
    let rounds = 0
    await fakeRun(join(stopped, 'run'), { rounds: 9, stopping: () => rounds++ === 2 })
    expect(await statusOf(stopped)).toBe('stopped')
  })

  it('follows a run that is cut back and goes on', async () => {
    const folder = temporaryFolder()
    BigRun.write(join(folder, 'run'), { rounds: 4 })
    const library = await Library.at(folder)
    const reader = (await library.open('run'))!
    await expect.poll(async () => (await reader.rollouts({ role: 'proposer' })).total).toBe(64)
    const file = join(folder, 'run', 'metrics.jsonl')
    const lines = readFileSync(file, 'utf8').split('\n')
    truncateSync(file, lines.slice(0, 3).join('\n').length + 1)
    rmSync(join(folder, 'run', 'rollouts', 'round-000003'), { recursive: true })
    appendFileSync(file, `${JSON.stringify({ step: 3, 'solver/loss': 77 })}\n`)
    await library.open('run')
    expect(reader.metrics.lastRound).toBe(3)
    expect(reader.columns({ names: ['solver/loss'], from: 3 }).columns).toEqual({
      'solver/loss': { mean: [77] },
    })
  })
})
