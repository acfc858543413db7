import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { sparring } from '../../test/support/command.js'
import { temporaryFolder } from '../../test/support/folders.js'
import { answerTable, dataFolder, hasGsm8k, SAMPLES } from '../../test/support/gsm8k.js'
import { type CompletionBody, openAiServer, type ServerScript } from '../../test/support/openai-server.js'
import { projectRoot } from '../core/paths.js'
import { problemSeed } from '../eval/evaluate.js'

const tiny = join(projectRoot(), 'models/tiny')
const events = (stdout: string) =>
  stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

const main = fileURLToPath(new URL('./main.js', import.meta.url))
const command = (url: string) => ['eval', 'sums.jsonl', '--endpoint', url, '--model', 'test-model']

const put = (body: CompletionBody) => body.messages!.at(-1)!.content

/** A folder with problems "i + i = ?", every fourth of level 2, and a service that is right on those with i < `known`. */
async function setUp(n: number, known: number, script: Partial<ServerScript> = {}) {
  const cwd = temporaryFolder()
  const rows = Array.from({ length: n }, (_, i) => {
    return { id: `sum-${i}`, problem: `${i} + ${i} = ?`, answer: `${2 * i}`, level: i % 4 === 3 ? 2 : 1 }
  })
  writeFileSync(join(cwd, 'sums.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  const answer = (body: CompletionBody) => {
    const i = Number(/\d+/.exec(put(body))![0])
    return Array.from({ length: body.n ?? 1 }, () => `It is \\boxed{${2 * i + (i < known ? 0 : 1)}}`)
  }
  const server = await openAiServer({ answer, ...script })
  const evaluate = (args: string[]) => sparring([...command(server.url), ...args], { cwd })
  return { cwd, server, evaluate }
}

describe('an evaluation of a service', () => {
  it('says accuracy, levels and tokens, and writes every sample down', async () => {
    const { cwd, server, evaluate } = await setUp(20, 12)
    const { status, stdout, stderr } = await evaluate([])
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(
      /^sums\.jsonl {2}0\.600 \[0\.387, 0\.781\] {2}20 problems, greedy, temperature 0; truncated 0 %, no answer 0 %$/m,
    )
    expect(stdout).toMatch(/^ {2}level 1 {2}0\.600 .* 15 problems$/m)
    expect(stdout).toMatch(/^ {2}evals\/sums-test-model-greedy\.json$/m)
    const file = JSON.parse(readFileSync(join(cwd, 'evals/sums-test-model-greedy.json'), 'utf8'))
    expect(file.samples).toHaveLength(20)
    expect(file.settings.model).toEqual({ name: 'test-model', address: server.url })
    expect(file.settings.protocol.prompt.maths.messages[0].content).toContain('{problem}')
    expect(server.seen[0]!.body).toMatchObject({ temperature: 0, max_tokens: 4096 })
    expect(put(server.seen[0]!.body)).toMatch(/^\d+ \+ \d+ = \?\n\nReason step by step/)
  })

  it('that is finished is told again without asking, with other k as well', async () => {
    const { server, evaluate } = await setUp(6, 4)
    const args = ['--json', '--samples', '6', '--temperature', '1', '--protocol', 'gar', '--limit', '5']
    const first = events((await evaluate(args)).stdout)
    expect(first[0]).toMatchObject({
      event: 'eval',
      benchmark: 'sums.jsonl',
      protocol: 'gar',
      model: 'test-model',
      sampling: 'sampled',
      temperature: 1,
      n: 5,
      samples: 6,
      accuracy: 0.8,
      majority: { accuracy: 0.8 },
      bySample: [0.8, 0.8, 0.8, 0.8, 0.8, 0.8],
      out: 'evals/sums-test-model-gar-limit5-samples6-temperature1.json',
    })
    expect(first[0].passAtK.map(({ k }: { k: number }) => k)).toEqual([1, 2, 4])
    expect(first.at(-1)).toMatchObject({ event: 'done', model: 'test-model' })
    const asked = server.seen.length
    const kept = await evaluate([...args, '--k', '3,6'])
    const again = events(kept.stdout)
    expect(kept.stderr).toMatch(
      /^These are the finished results of test-model at http:\S+ of \d{4}-\S+Z in evals\/sums-\S+\.json; nothing was asked\.$/m,
    )
    expect([first[0].kept, again[0].kept, again[0].date]).toEqual([false, true, first[0].date])
    expect(again[0].passAtK.map(({ k }: { k: number }) => k)).toEqual([1, 2, 3, 4, 6])
    expect(again[0].accuracy).toBe(0.8)
    expect(server.seen.length).toBe(asked)
  })

  const args = ['--protocol', 'pasodoble', '--concurrency', '4', '--out', 'x.json']

  /** Problem and sample of the answers that the file of an unfinished evaluation holds. */
  function kept(cwd: string): { problem: number; sample: number }[] {
    const path = join(cwd, 'x.partial.jsonl')
    const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : []
    return lines.flatMap((line) => JSON.parse(line).answer ?? [])
  }

  it('killed with kill -9 again and again, asks for no sample that it had', async () => {
    let [killAt, kill] = [0, () => {}]
    const fault = (i: number) => {
      if (i === killAt) kill()
      return { kind: 'slow' as const, ms: 5 }
    }
    const { cwd, server, evaluate } = await setUp(40, 30, { fault })
    let had = new Set<number>()
    for (const after of [3, 60, 61]) {
      killAt = server.seen.length + after
      const before = server.seen.length
      const child = spawn(process.execPath, [main, ...command(server.url), ...args], { cwd, stdio: 'ignore' })
      kill = () => child.kill('SIGKILL')
      await once(child, 'close')
      expect(child.signalCode).toBe('SIGKILL')
      expect(server.seen.slice(before).filter(({ body }) => had.has(body.seed!))).toEqual([])
      had = new Set(kept(cwd).map(({ problem, sample }) => problemSeed(0, problem, sample)))
    }
    expect(had.size).toBeGreaterThan(100)
    killAt = -1
    const before = server.seen.length
    const { status, stdout } = await evaluate([...args, '--json'])
    expect(status).toBe(0)
    expect(server.seen.length - before).toBe(240 - had.size)
    expect(events(stdout)[0]).toMatchObject({ n: 40, samples: 6, accuracy: 0.75 })
    expect(readdirSync(cwd).sort()).toEqual(['sums.jsonl', 'x.json'])
  })

  it('ended by Ctrl-C keeps what it has, says so and goes on', async () => {
    let interrupt = () => {}
    const fault = (i: number) => {
      if (i === 50) interrupt()
      return { kind: 'slow' as const, ms: 5 }
    }
    const { cwd, server, evaluate } = await setUp(40, 30, { fault })
    const child = spawn(process.execPath, [main, ...command(server.url), ...args], { cwd })
    interrupt = () => child.kill('SIGINT')
    const [stderr, [status]] = await Promise.all([text(child.stderr), once(child, 'close')])
    expect(status).toBe(130)
    const had = kept(cwd).length
    expect(had).toBeGreaterThan(40)
    expect(stderr).toMatch(
      /^\d+ of 240 samples are kept in x\.partial\.jsonl: the same command goes on from there\.$/m,
    )
    expect(stderr).toMatch(/^error: Ended before it was done\.$/m)
    const before = server.seen.length
    expect((await evaluate(args)).status).toBe(0)
    expect(server.seen.length - before).toBe(240 - had)
  })

  it('is refused where the file belongs to another evaluation, or to a process that runs', async () => {
    const { evaluate, server } = await setUp(4, 2)
    expect((await evaluate(['--out', 'x.json'])).status).toBe(0)
    const { status, stderr } = await evaluate(['--out', 'x.json', '--max-tokens', '100'])
    expect(status).toBe(2)
    expect(stderr).toContain(
      'x.json belongs to another evaluation: it has protocol.maxTokens 4096 instead of 100.',
    )
    expect(stderr).toContain('hint: Name another file with --out')
    const asked = server.seen.length

    const slow = await setUp(4, 2, { fault: () => ({ kind: 'silent' }) })
    const child = spawn(process.execPath, [main, ...command(slow.server.url), '--out', 'y.json'], {
      cwd: slow.cwd,
      stdio: 'ignore',
    })
    while (slow.server.seen.length === 0) await sleep(20)
    const second = await slow.evaluate(['--out', 'y.json'])
    expect(second.stderr).toMatch(/y\.json is in use by process \d+\.\nhint: .* another file with --out/)
    expect(second.status).toBe(2)
    child.kill('SIGKILL')
    expect(server.seen.length).toBe(asked)
  })

  it("is not given out for another service's, finished or not, however its problems are named", async () => {
    const { cwd, evaluate, server } = await setUp(4, 2)
    expect((await evaluate(['--out', 'x.json'])).status).toBe(0)
    const other = await openAiServer({ answer: () => ['\\boxed{1}'] })
    const at = (url: string, file = 'sums.jsonl', out = 'x.json') =>
      sparring(['eval', file, '--endpoint', url, '--model', 'test-model', '--out', out], { cwd })
    const refused = await at(other.url)
    expect(refused).toMatchObject({ status: 2, stdout: '' })
    expect(refused.stderr).toContain(
      `x.json belongs to another evaluation: it has model.address "${server.url}" instead of "${other.url}".`,
    )
    expect(refused.stderr).toMatch(/^hint: Name another file with --out, .* or delete that file\.$/m)
    expect((await at('notaurl')).stderr).toContain('error: notaurl is no http(s) address.')
    expect(other.seen).toEqual([])

    const asked = server.seen.length
    writeFileSync(join(cwd, 'copy.jsonl'), readFileSync(join(cwd, 'sums.jsonl')))
    for (const file of ['./sums.jsonl', join(cwd, 'sums.jsonl'), 'copy.jsonl']) {
      expect((await at(`${server.url}/`, file)).stderr).toContain('nothing was asked')
    }
    expect(server.seen).toHaveLength(asked)

    const fault = (i: number) => (i < 2 ? undefined : { kind: 'status' as const, status: 401 })
    const failing = await setUp(4, 2, { fault })
    expect((await failing.evaluate(['--out', join(cwd, 'y.json'), '--concurrency', '1'])).status).toBe(2)
    const resumed = await at(other.url, 'sums.jsonl', 'y.json')
    expect(resumed.status).toBe(2)
    expect(resumed.stderr).toMatch(/y\.partial\.jsonl belongs to another evaluation: it has model\.address/)
    expect(other.seen).toEqual([])
  })

  it('leaves nothing behind where nothing was answered', async () => {
    const { cwd, evaluate } = await setUp(4, 2, { fault: () => ({ kind: 'status', status: 401 }) })
    const { status, stderr } = await evaluate(['--out', 'x.json'])
    expect(status).toBe(2)
    expect(stderr).not.toContain('samples are kept')
    expect(readdirSync(cwd)).toEqual(['sums.jsonl'])
  })

  it('shows no control characters of a file, and shares as they are', async () => {
    const { cwd, server } = await setUp(1, 8)
    const rows = Array.from({ length: 8 }, (_, i) => ({
      problem: `${i} + ${i} = ?`,
      answer: `${2 * i + (i < 3 ? 0 : 9)}`,
      level: i % 2 ? '\u001b[2J' : 'easy',
    }))
    writeFileSync(join(cwd, 'odd.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
    const args = ['eval', 'odd.jsonl', '--endpoint', server.url, '--model', 'test-model']
    const { stdout, stderr } = await sparring(args, { cwd })
    expect(stdout).toContain('level \\u001b[2J')
    expect(`${stdout}${stderr}`).not.toContain('\u001b')
    expect(events((await sparring([...args, '--json'], { cwd })).stdout)[0].accuracy).toBe(3 / 8)
  })

  it('fails with one sentence where the service refuses, and keeps what it has', async () => {
    const fault = (i: number) => (i < 6 ? undefined : { kind: 'status' as const, status: 401 })
    const { evaluate } = await setUp(10, 5, { fault })
    const { status, stderr } = await evaluate(['--concurrency', '1', '--out', 'x.json'])
    expect(status).toBe(2)
    expect(stderr).toMatch(/^6 of 10 samples are kept in x\.partial\.jsonl/m)
    expect(stderr).toMatch(/^error: .*\.$/m)
    expect(stderr).not.toContain('    at ')
  })
})

describe('multiple choice', () => {
  it('is graded by letter, or by value', async () => {
    const cwd = temporaryFolder()
    const choices = ['a metal', 'a gas', 'a liquid', 'a plasma']
    const rows = ['C', 'C', 'a liquid', 'B'].map((answer, i) => ({
      id: `${i}`,
      problem: `Number ${i}?`,
      answer,
      choices,
    }))
    writeFileSync(join(cwd, 'which.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
    const answers = ['So it is (C).\n\\boxed{C}', 'The answer is **C**.', '\\boxed{C}', '\\boxed{C}']
    const server = await openAiServer({
      answer: (body) => [answers[Number(/Number (\d)/.exec(put(body))![1])]!],
    })
    const { stdout } = await sparring(
      ['eval', 'which.jsonl', '--endpoint', server.url, '--model', 'test-model', '--json'],
      { cwd },
    )
    expect(put(server.seen[0]!.body)).toMatch(
      /^Number \d\?\n\nA\. a metal\nB\. a gas\n.*letter of the right choice/s,
    )
    expect(events(stdout)[0]).toMatchObject({ n: 4, accuracy: 0.75 })
  })
})

describe('two evaluations', () => {
  it('are compared problem by problem', async () => {
    const { cwd, evaluate } = await setUp(20, 12)
    await evaluate(['--out', 'a.json'])
    const better = await setUp(20, 18)
    await better.evaluate(['--out', join(cwd, 'b.json'), '--max-tokens', '99'])
    const { status, stdout } = await sparring(['eval', '--compare', 'a.json', 'b.json'], { cwd })
    expect(status).toBe(0)
    expect(stdout).toContain('sums.jsonl  0.600 -> 0.900  20 problems that both have')
    // 6 discordant pairs, all for b: 2 / 2^6
    expect(stdout).toMatch(/difference \+30\.0 points \[\+9\.4, \+50\.6\], p = 0\.031 \(McNemar, exact\)/)
    expect(stdout).toContain('more often right in b.json: 6 problems, less often: 0')
    expect(stdout).toContain('note: b.json has protocol.maxTokens 99 instead of 4096')
    expect(stdout).toMatch(/sum-12 {2}0\/1 -> 1\/1/)
    const [event, done] = events(
      (await sparring(['eval', '--compare', 'a.json', 'b.json', '--json'], { cwd })).stdout,
    )
    expect(event).toMatchObject({ event: 'compare', n: 20, p: 0.03125, better: 6, worse: 0 })
    expect(done).toMatchObject({ event: 'done' })
  })

  it.each<[string[], RegExp, RegExp]>([
    [['a.json'], /--compare takes two results files, not 1\./, /hint: For example/],
    [['a.json', 'none.json'], /none\.json does not exist\./, /hint: Results files/],
    [['a.json', 'sums.jsonl'], /sums\.jsonl is no results file of sparring eval/, /hint: /],
  ])('are refused: %j', async (files, message, hint) => {
    const { cwd, evaluate } = await setUp(2, 2)
    await evaluate(['--out', 'a.json'])
    const { status, stderr } = await sparring(['eval', '--compare', ...files], { cwd })
    expect(status).toBe(2)
    expect(stderr).toMatch(message)
    expect(stderr).toMatch(hint)
  })
})

describe('what sparring eval is given', () => {
  const service = ['--endpoint', 'http://127.0.0.1:9/v1', '--model', 'm']

  it.each<[string[], RegExp, RegExp?]>([
    [['gms8k', ...service], /^error: There is no benchmark gms8k\.$/m, /Did you mean gsm8k\?/],
    [[...service], /^error: There is no benchmark to measure on\.$/m, /arithmetic or gsm8k/],
    [['arithmetic'], /^error: There is no model to measure\.$/m, /--endpoint URL --model NAME/],
    [
      ['arithmetic', ...service, '--protocol', 'pasodobel'],
      /^error: There is no protocol pasodobel\.$/m,
      /pasodoble\?/,
    ],
    [
      ['arithmetic', ...service, '--k', '8'],
      /^error: --k 8 is more than the 1 samples that greedy takes/m,
      /--samples 8/,
    ],
    [
      ['arithmetic', ...service, '--samples', '4'],
      /^error: --samples 4 needs a temperature above 0/m,
      /--temperature/,
    ],
    [['arithmetic', ...service, '--top-p', '2'], /^error: --top-p must be above 0 and at most 1, not 2\.$/m],
    [['arithmetic', ...service, '--role', 'solver'], /^error: --role is about a model on this machine/m],
    [
      ['arithmetic', 'sums.jsonl', ...service, '--out', 'x.json'],
      /^error: --out names one file, and there are 2/m,
    ],
    [
      ['gsm8k', ...service, '--data', 'nowhere'],
      /gsm8k_test\.jsonl does not exist\.$/m,
      /Leave --data out to fetch/,
    ],
    [['gsm8k', ...service, '--data', 'sums.jsonl'], /^error: --data sums\.jsonl is no folder\.$/m],
    [
      ['sums.jsonl', ...service, '--out', 'bad.jsonl/x.json'],
      /^error: bad\.jsonl\/x\.json cannot be written: /m,
    ],
    [['bad.jsonl', ...service], /^error: bad\.jsonl:1: the line is not JSON/m],
    [
      ['sums.jsonl', '--endpoint', 'nonsense', '--model', 'm'],
      /^error: nonsense is no http\(s\) address\.$/m,
    ],
    [['gsm8k', '--endpoint', 'http://127.0.0.1:9/v1'], /^error: --endpoint needs a model to ask\.$/m],
    [['arithmetic', ...service, '--threads', '2'], /^error: --threads is about a model on this machine/m],
    [['gsm8k', '--model', 'm', '--concurrency', '2'], /^error: --concurrency is about a service/m],
    [['gsm8k', '--model', 'm', '--api-key-env', 'HOME'], /^error: --api-key-env is about a service/m],
    [
      ['gsm8k', ...service, '--api-key-env', 'SPARRING_NO_KEY'],
      /^error: --api-key-env names SPARRING_NO_KEY, which is not set\.$/m,
    ],
    [['gsm8k', 'gsm8k', ...service], /^error: gsm8k is named twice\.$/m],
    [['sums.jsonl', './sums.jsonl', ...service], /^error: \.\/sums\.jsonl is named twice\.$/m],
    [
      ['sums.jsonl', 'sub/sums.jsonl', ...service],
      /^error: The results of sums\.jsonl and sub\/sums\.jsonl would both go to evals\/sums-m-greedy\.json\.$/m,
    ],
    [['--compare', 'a.json', 'b.json', '--samples', '4'], /^error: --samples is about an evaluation/m],
    [['gsm8k', '--compare', 'a.json', 'b.json'], /^error: --compare takes two results files, not [23]\.$/m],
  ])('is refused in one sentence with status 2: %j', async (args, message, hint = /^/) => {
    const { cwd } = await setUp(2, 2)
    writeFileSync(join(cwd, 'bad.jsonl'), '{"problem": \n')
    mkdirSync(join(cwd, 'sub'))
    writeFileSync(join(cwd, 'sub/sums.jsonl'), '{"problem": "1 + 1?", "answer": "2"}\n')
    const { status, stdout, stderr } = await sparring(['eval', ...args], { cwd })
    expect(stderr).toMatch(message)
    expect(stderr).toMatch(hint)
    expect(stderr).not.toContain('    at ')
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  })
})

describe('an evaluation on this machine', () => {
  it('is sampled and greedy where no protocol is named, and takes the prompt of the game', async () => {
    const cwd = temporaryFolder()
    const { status, stdout } = await sparring(
      ['eval', 'arithmetic', '--model', tiny, '--limit', '32', '--json'],
      { cwd },
    )
    expect(status).toBe(0)
    const [sampled, greedy] = events(stdout)
    expect([sampled.protocol, greedy.protocol]).toEqual(['game', 'game-greedy'])
    expect([sampled.sampling, greedy.sampling]).toEqual(['sampled', 'greedy'])
    expect(readdirSync(join(cwd, 'evals')).sort()).toHaveLength(2)
  })
})

const python = spawnSync('python3', ['--version']).status === 0

describe.skipIf(!python)('code (skipped where there is no python3)', () => {
  it('is run against its tests', async () => {
    const cwd = temporaryFolder()
    const row = (name: string, body: string) => ({
      id: `HumanEval/${name}`,
      problem: `def ${name}(x):\n    """${body} of x."""\n`.replaceAll('\\"', '"'),
      answer: `    return ${body}\n`,
      test: `def check(candidate):\n    x = 3\n    assert candidate(x) == ${body}\n`,
      entry_point: name,
    })
    const rows = [row('double', '2 * x'), row('square', 'x * x'), row('cube', 'x ** 3')]
    writeFileSync(join(cwd, 'humaneval.jsonl'), rows.map((each) => `${JSON.stringify(each)}\n`).join(''))
    const answers: Record<string, string> = {
      double: 'Here it is:\n```python\ndef double(x):\n    return x + x\n```',
      square: '```python\ndef square(x):\n    return x + x\n```',
      cube: '<think>\nThe thinking never ends',
    }
    const answer = (body: CompletionBody) => [answers[/def (\w+)/.exec(put(body))![1]!]!]
    const server = await openAiServer({ answer })
    const args = [
      'eval',
      'humaneval',
      '--data',
      '.',
      '--endpoint',
      server.url,
      '--model',
      'test-model',
      '--json',
    ]
    const { status, stdout, stderr } = await sparring(args, { cwd })
    expect(status).toBe(0)
    expect(stderr).toContain('note: humaneval: 3 problems are there, where the set is known to have 164.')
    expect(events(stdout)[0]).toMatchObject({
      n: 3,
      accuracy: 1 / 3,
      reasons: { passed: 1, failed: 1, no_code: 1 },
      unansweredFrac: 1 / 3,
    })
    const file = JSON.parse(readFileSync(join(cwd, 'evals/humaneval-test-model-greedy.json'), 'utf8'))
    expect(file.settings.protocol.grader.code.wallMs).toBeGreaterThan(0)
  })
})

describe.skipIf(!hasGsm8k)(`all of gsm8k (skipped where ${dataFolder} is absent)`, () => {
  it('of a service that answers from a table has exactly the accuracy of the table', async () => {
    const table = answerTable()
    const cwd = temporaryFolder()
    const server = await openAiServer({ answer: (body) => [table.next(put(body))] })
    const { status, stdout, stderr } = await sparring(
      [
        ...['eval', 'gsm8k', '--data', dataFolder, '--endpoint', server.url, '--model', 'test-model'],
        ...['--protocol', 'pasodoble', '--concurrency', '64', '--json'],
      ],
      { cwd },
    )
    expect({ status, stderr }).toMatchObject({ status: 0 })
    const [report] = events(stdout)
    expect(report).toMatchObject({ n: 1319, samples: SAMPLES, unansweredFrac: table.unanswered, notes: [] })
    expect(report.accuracy).toBeCloseTo(table.accuracy, 12)
    expect(server.seen).toHaveLength(1319 * SAMPLES)
  }, 180_000)
})
