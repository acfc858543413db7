import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { sparring } from '../../test/support/command.js'
import { temporaryFolder } from '../../test/support/folders.js'
import { projectRoot } from '../core/paths.js'

const events = (stdout: string) =>
  stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

describe('the command line', () => {
  it('shows help at once, loading neither engine nor games', async () => {
    const started = performance.now()
    const { status, stdout } = await sparring(['--help'])
    expect(status).toBe(0)
    for (const command of ['train', 'eval', 'sample', 'export', 'games', 'doctor'])
      expect(stdout).toContain(`\n  ${command} `)
    expect(performance.now() - started).toBeLessThan(3000)
    const main = readFileSync(fileURLToPath(new URL('./main.js', import.meta.url)), 'utf8')
    expect(main.startsWith('#!/usr/bin/env node\n')).toBe(true)
    const imported = [...main.matchAll(/^import .* from '(.*)'/gm)].map(([, name]) => name)
    expect(imported).toEqual(['commander', './failure.js', './version.js'])
  })

  it('lists the recipes, each with the first sentence of its head', async () => {
    const { status, stdout } = await sparring(['recipes', '--json'])
    expect(status).toBe(0)
    const files = readdirSync(join(projectRoot(), 'recipes')).filter((name) => name.endsWith('.yaml'))
    expect(events(stdout).map(({ name }) => `${name}.yaml`)).toEqual(files)
    for (const { summary } of events(stdout)) expect(summary).toMatch(/^[A-Z].{9,}\.$/)
    expect(events(stdout)).toContainEqual({
      event: 'recipe',
      name: 'grpo-tiny',
      game: 'grpo',
      engine: 'local',
      models: ['models/tiny'],
      rounds: 80,
      summary: 'GRPO on the starter model: a solver is paid for true answers to arithmetic problems.',
    })
  })

  it.each<[string[], RegExp, RegExp?]>([
    [['trian'], /^error: Unknown command 'trian'\.$/m, /^hint: Did you mean train\?$/m],
    [['train', '--jsn'], /^error: Unknown option '--jsn'\.$/m, /^hint: Did you mean --json\?$/m],
    [['train'], /^error: There is no run file to play\.$/m, /pasodoble-tiny/],
    [['train', 'a', 'b'], /^error: Too many arguments/m],
    [
      ['train', '--rounds', 'x'],
      /'--rounds <n>' argument 'x' is invalid\. It must be a whole number >= 1\.$/m,
    ],
    [['train', 'pasodoble-tinny'], /^error: There is no recipe pasodoble-tinny\.$/m, /pasodoble-tiny\?/],
    [
      ['train', 'pasodoble-tiny', '--set', 'settings.answers_reward=x'],
      /answers_reward is not a known key/,
      /answer_reward\?/,
    ],
    [['train', '--resume', '--run', 'nowhere'], /nowhere holds no run to resume\.$/m],
    [['eval', 'arithmetic'], /^error: There is no model to measure\.$/m],
    [['eval', 'arithmetic', '--model', 'nowhere'], /^error: The model folder nowhere does not exist\.$/m],
    [['eval', 'nothing.jsonl', '--model', 'nowhere'], /^error: nothing\.jsonl does not exist\.$/m],
    [
      ['sample', '--model', 'nowhere', '--prompt', 'x', '--temperature', '-1'],
      /It must be a number >= 0\.$/m,
    ],
    [['export', 'nowhere', '--out', 'x'], /^error: nowhere is not the folder of a run\.$/m],
  ])('answers wrong usage with one sentence and status 2: %j', async (args, message, hint = /^/) => {
    const { status, stdout, stderr } = await sparring(args, { cwd: temporaryFolder() })
    expect(stderr).toMatch(message)
    expect(stderr).toMatch(hint)
    expect(stderr).not.toContain('    at ')
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  })

  it('shows where an error arose when asked', async () => {
    const { stderr } = await sparring(['train', 'nothing', '--debug'])
    expect(stderr).toContain('ConfigError')
    expect(stderr).toContain('    at ')
  })

  it('answers with an event where JSON was asked for', async () => {
    const { status, stdout, stderr } = await sparring(['train', 'nothing', '--json'])
    expect(status).toBe(2)
    expect(stderr).toBe('')
    expect(events(stdout)).toEqual([
      {
        event: 'error',
        code: 'config',
        message: 'There is no recipe nothing.',
        hint: expect.stringContaining('pasodoble-tiny'),
      },
    ])
  })

  it('shows help where no command was given, with status 2', async () => {
    const { status, stderr } = await sparring([])
    expect(status).toBe(2)
    expect(stderr).toContain('Usage: sparring')
  })

  it('lists the games', async () => {
    const { status, stdout } = await sparring(['games', '--json'])
    expect(status).toBe(0)
    expect(events(stdout)).toContainEqual(
      expect.objectContaining({ event: 'game', name: 'pasodoble', roles: ['proposer', 'solver'] }),
    )
  })

  it('finds this machine fit', async () => {
    const { status, stdout } = await sparring(['doctor', '--json'])
    expect(events(stdout).filter(({ ok }) => ok === false)).toEqual([])
    expect(events(stdout).at(-1)).toEqual({ event: 'done', checks: 7, failed: 0 })
    expect(status).toBe(0)
  })

  it('is quiet when its reader goes away', async () => {
    const script = fileURLToPath(new URL('./main.js', import.meta.url))
    const child = spawn(process.execPath, [script, 'games'], { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.destroy()
    let stderr = ''
    child.stderr.on('data', (data) => {
      stderr += data
    })
    await once(child, 'close')
    expect(stderr).toBe('')
  })

  it('names file and place of a run file that is no YAML', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'bad.yaml'), 'game: pasodoble\nrounds: [1\n')
    const { status, stderr } = await sparring(['train', 'bad.yaml'], { cwd: folder })
    expect(status).toBe(2)
    expect(stderr).toMatch(/^error: bad\.yaml is not valid YAML: .*line 3/m)
  })

  it('takes no empty path for the working folder', async () => {
    const cwd = temporaryFolder()
    const { status, stderr } = await sparring(['train', 'pasodoble-tiny', '--run', ''], { cwd })
    expect(status).toBe(2)
    expect(stderr).toContain("'--run <folder>' argument '' is invalid")
    expect(readdirSync(cwd)).toEqual([])
  })

  it('sends no control characters to the terminal', async () => {
    const { stderr } = await sparring(['train', 'no\u001b[2Jthing\u007f'])
    expect(stderr).toContain('There is no recipe no\\u001b[2Jthing\\u007f.')
  })
})
