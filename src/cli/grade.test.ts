import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { sparring } from '../../test/support/command.js'

const folder = mkdtempSync(join(tmpdir(), 'sparring-grade-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function file(name: string, lines: object[]): string {
  const path = join(folder, name)
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return path
}

const cases = file('cases.jsonl', [
  { id: 'a', gold: '\\frac{1}{2}', prediction: 'so \\boxed{0.5}', equal: true },
  { gold: 42, prediction: 'The answer is 43.', equal: true },
  { gold: 'B', prediction: '(B)', kind: 'answer', equal: true },
  { gold: '3', prediction: '\\boxed{5}', equal: true, disputed: true },
  { gold: '1', prediction: '', equal: false },
  { gold: '7', prediction: 'B', choices: ['5', '7'], equal: true },
])
const events = (stdout: string) =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

describe('sparring grade', () => {
  it('prints a verdict a case, and how far they agree with the file', async () => {
    const { status, stdout } = await sparring(['grade', cases, '--json'])
    const lines = events(stdout)
    const summary = lines.pop()
    expect(
      lines.map(({ case: number, equal, extracted, from, reason, agrees }) => [
        number,
        equal,
        extracted,
        from,
        reason,
        agrees,
      ]),
    ).toEqual([
      [1, true, '0.5', 'boxed', 'equal', true],
      [2, false, '43', 'phrase', 'different', false],
      [3, true, '(B)', 'whole', 'equal', true],
      [4, false, '5', 'boxed', 'different', false],
      [5, false, null, null, 'no_answer', true],
      [6, true, 'B', 'choice', 'equal', true],
    ])
    expect(lines[0].id).toBe('a')
    expect(lines.every(({ ms }) => ms > 0)).toBe(true)
    const { seconds, ...counts } = summary
    expect(counts).toEqual({
      event: 'summary',
      n: 5,
      equal: 3,
      agree: 4,
      falseEqual: 0,
      falseDifferent: 1,
      timeouts: 0,
      errors: 0,
      disputed: 1,
    })
    expect(seconds).toBeGreaterThan(0)
    expect(status).toBe(0)
  })

  it('says the same to a reader, with what disagrees', async () => {
    const { stdout } = await sparring(['grade', cases])
    expect(stdout).toMatch(/^ {4}2 {2}different {2}43 {2}\[phrase\] {2}[\d.]+ ms {2}DISAGREES$/m)
    expect(stdout).toMatch(/^4 of 5 agree with the file \(80\.00 %\); 0 wrongly equal, 1 wrongly different$/m)
    expect(stdout).toMatch(/^ {2}case 2: gold 42, taken 43: different$/m)
  })

  it('holds to its settings', async () => {
    const path = file('settings.jsonl', [
      { gold: '7', prediction: 'first \\boxed{3+4}' },
      { gold: '\\pi', prediction: 'the answer is 3.14' },
      { gold: '5', prediction: '#### 5' },
    ])
    const verdicts = async (...flags: string[]) =>
      events((await sparring(['grade', path, '--json', ...flags])).stdout)
        .slice(0, -1)
        .map(({ equal }) => equal)
    expect(await verdicts()).toEqual([true, false, true])
    expect(await verdicts('--unevaluated', 'refuse')).toEqual([false, false, true])
    expect(await verdicts('--tolerance', '0.01')).toEqual([true, true, true])
    expect(await verdicts('--extract', 'boxed,phrase')).toEqual([true, false, false])
  })

  it('ends at once when it is interrupted, with what it has', async () => {
    const many = Array.from({ length: 3000 }, (_, i) => ({
      gold: `x^{${i}}+1`,
      prediction: `\\sqrt{${i}}x`,
      kind: 'answer',
    }))
    let told = false
    const { status, stdout } = await sparring(['grade', file('many.jsonl', many), '--json'], {
      watch(output, kill) {
        if (told || output.split('\n').length <= 50) return
        told = true
        kill('SIGINT')
      },
    })
    const lines = events(stdout)
    const graded = lines.filter(({ event }) => event === 'verdict').length
    expect(graded).toBeGreaterThan(49)
    expect(graded).toBeLessThan(3000)
    expect(lines.find(({ event }) => event === 'summary').n).toBe(graded)
    expect(lines.at(-1)).toMatchObject({ event: 'error', code: 'aborted' })
    expect(status).toBe(130)
  })

  it('counts no agreement where the file holds no verdict', async () => {
    const { stdout } = await sparring([
      'grade',
      file('bare.jsonl', [{ gold: '1', prediction: '1' }]),
      '--json',
    ])
    expect(events(stdout).at(-1)).toMatchObject({ n: 1, equal: 1, agree: null, falseEqual: null })
  })

  it.each([
    [['nowhere.jsonl'], /^error: nowhere\.jsonl does not exist\.$/m],
    [[file('no-gold.jsonl', [{ prediction: '1' }])], /no-gold\.jsonl:1: key "gold" is missing\.$/m],
    [[file('empty.jsonl', [])], /empty\.jsonl holds no cases\.$/m],
    [[cases, '--extract', ''], /^error: --extract names no method\.$/m],
    [[cases, '--extract', 'box'], /^error: --extract: there is no method box\.$/m],
    [[cases, '--unevaluated', 'maybe'], /^error: --unevaluated maybe is neither accept nor refuse\.$/m],
    [[cases, '--deadline', '0'], /deadline/],
  ])('refuses %j with one sentence and status 2', async (args, message) => {
    const { status, stderr } = await sparring(['grade', ...args])
    expect(stderr).toMatch(message)
    expect(stderr).not.toContain('    at ')
    expect(status).toBe(2)
  })
})
