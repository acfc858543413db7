import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { GraderError } from '../core/errors.js'
import { createGrader } from './pool.js'

const folder = mkdtempSync(join(tmpdir(), 'sparring-grader-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const box = (gold: string, answer: string) => ({ gold, prediction: `so \\boxed{${answer}}` })
const summary = (verdicts: { equal: boolean; reason: string }[]) =>
  verdicts.map(({ equal, reason }) => `${equal} ${reason}`)

/** A grading process whose gold answers are orders, and the file it adds its process id to. */
function script(name: string): { path: string; pids: () => number[] } {
  const path = join(folder, `${name}.mjs`)
  const log = join(folder, `${name}.pids`)
  const once = join(folder, `${name}.once`)
  const watchdog = new URL('./watchdog.js', import.meta.url).href
  writeFileSync(
    path,
    `import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
     import { endWithParent } from ${JSON.stringify(watchdog)}
     endWithParent()
     appendFileSync(${JSON.stringify(log)}, process.pid + '\\n')
     process.on('message', ({ gold, prediction }) => {
       if (gold === 'spin') for (;;) {}
       if (gold === 'die') process.exit(1)
       if (gold === 'die once' && !existsSync(${JSON.stringify(once)})) {
         writeFileSync(${JSON.stringify(once)}, '')
         process.exit(1)
       }
       const equal = prediction.includes('yes')
       process.send({ equal, extracted: prediction, reason: equal ? 'equal' : 'different' })
     })
     process.send('ready')`,
  )
  const pids = () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').map(Number) : [])
  return { path, pids }
}

/** A process that ended but was not yet collected by its parent (state Z) is not alive. */
function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !existsSync(`/proc/${pid}/stat`) || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

async function gone(pids: number[], ms: number): Promise<boolean> {
  for (let waited = 0; waited < ms && pids.some(alive); waited += 50) await sleep(50)
  return !pids.some(alive)
}

describe('verdicts', () => {
  const cases = [
    box('42', '42.0'),
    box('42', '43'),
    box('\\frac{1}{2}', '0.5'),
    box('\\frac{1}{2}', 'x'),
    { gold: '1', prediction: 'nothing is boxed' },
    box('1', ' '),
    box('', '1'),
    box('\\{1,2\\}', '{2, 1}'),
  ]
  const expected = [
    'true equal',
    'false different',
    'true equal',
    'false different',
    'false no_answer',
    'false no_answer',
    'false unparsable_gold',
    'true equal',
  ]

  it.each([1, 3])('keep their order with %i workers', async (workers) => {
    const grader = createGrader({ workers, extract: ['boxed'] })
    const verdicts = await grader.grade(cases)
    expect(summary(verdicts)).toEqual(expected)
    expect(verdicts.map((verdict) => verdict.extracted)).toEqual([
      '42.0',
      '43',
      '0.5',
      'x',
      null,
      null,
      '1',
      '{2, 1}',
    ])
    expect(summary(await grader.grade([...cases].reverse()))).toEqual([...expected].reverse())
    await grader.close()
  })

  it('on plain numerals need no process', async () => {
    const grader = createGrader({ extract: ['last_box'], workerPath: join(folder, 'absent.js') })
    const verdicts = await grader.grade([box('1,000', '1000'), box('-3', '+3'), box('0.5', '0.50')])
    expect(summary(verdicts)).toEqual(['true equal', 'false different', 'true equal'])
    await grader.close()
  })
})

describe('what a grader is given', () => {
  it.each([
    [{ workers: 0 }, /workers/],
    [{ deadlineMs: -1 }, /deadlineMs/],
    [{ extract: ['foo'] }, /extract/],
    [{ processes: 2 }, /processes/],
    [{ unevaluated: 'maybe' }, /unevaluated/],
  ])('refuses options %j', (options, message) => {
    expect(() => createGrader(options as object)).toThrow(message)
  })

  it('refuses a case that is no text, naming it', async () => {
    const grader = createGrader()
    const cases = [box('1', '1'), { gold: '1', prediction: null as unknown as string }]
    await expect(grader.grade(cases)).rejects.toThrow(/Case 1 .*prediction is no text/)
    await grader.close()
  })
})

describe('processes', () => {
  it('that hang are killed at the deadline, and the other cases go on', async () => {
    const { path, pids } = script('spin')
    const grader = createGrader({ workers: 2, deadlineMs: 300, workerPath: path })
    const batch = ['yes', 'spin', 'no', 'spin', 'yes', 'no'].map((word) =>
      word === 'spin' ? box('spin', 'yes') : box('gold', word),
    )
    const verdicts = await grader.grade(batch)
    expect(summary(verdicts)).toEqual([
      'true equal',
      'false timeout',
      'false different',
      'false timeout',
      'true equal',
      'false different',
    ])
    expect(verdicts[1]!.ms).toBeGreaterThanOrEqual(295)
    expect(summary(await grader.grade([box('gold', 'yes')]))).toEqual(['true equal'])
    await grader.close()
    expect(pids().length).toBeGreaterThanOrEqual(3)
    expect(pids().some(alive)).toBe(false)
  })

  it('that die are replaced: a case that kills twice is an error, one that kills once is graded', async () => {
    const grader = createGrader({ workers: 1, workerPath: script('die').path })
    const verdicts = await grader.grade([box('die', 'yes'), box('die once', 'yes'), box('gold', 'yes')])
    expect(summary(verdicts)).toEqual(['false error', 'true equal', 'true equal'])
    await grader.close()
  })

  it('that cannot be started are an error of the grader', async () => {
    const grader = createGrader({ workerPath: join(folder, 'absent.js') })
    await expect(grader.grade([box('x', 'y')])).rejects.toThrow(GraderError)
    await grader.close()
  })

  it('end with close, and a closed grader says so', async () => {
    const { path, pids } = script('close')
    const grader = createGrader({ workers: 2, workerPath: path })
    const hanging = grader.grade([box('spin', 'yes'), box('gold', 'yes')])
    const failed = expect(hanging).rejects.toThrow(GraderError)
    while (pids().length < 2) await sleep(20)
    await sleep(100)
    await grader.close()
    await failed
    expect(pids().some(alive)).toBe(false)
    await expect(grader.grade([box('1', '1')])).rejects.toThrow(GraderError)
  })
})

describe('a parent process', () => {
  /** A program of its own that grades one case and then goes on as told. */
  function parent(worker: string, gold: string, then: string): ChildProcess {
    const pool = new URL('./pool.js', import.meta.url).href
    const code = `import { createGrader } from ${JSON.stringify(pool)}
      const grader = createGrader({ workers: 1, deadlineMs: 60000, workerPath: ${JSON.stringify(worker)} })
      const verdicts = grader.grade([{ gold: ${JSON.stringify(gold)}, prediction: '\\\\boxed{yes}' }])
      ${then}`
    return spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'ignore' })
  }

  it('is not kept alive by idle graders, which end with it', async () => {
    const { path, pids } = script('idle')
    const program = parent(path, 'gold', 'process.exitCode = (await verdicts)[0].equal ? 7 : 1')
    const [status] = await once(program, 'exit')
    expect(status).toBe(7)
    expect(pids().length).toBe(1)
    expect(await gone(pids(), 5000)).toBe(true)
  })

  it('that is killed takes even a hanging grader with it', async () => {
    const { path, pids } = script('orphan')
    const program = parent(path, 'spin', 'await verdicts')
    while (pids().length < 1) await sleep(20)
    await sleep(300)
    expect(pids().every(alive)).toBe(true)
    program.kill('SIGKILL')
    expect(await gone(pids(), 8000)).toBe(true)
  })
})
