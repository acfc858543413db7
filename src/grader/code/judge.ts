/** Decides whether the code of a response passes the tests of its task. */
import { randomBytes } from 'node:crypto'
import { parseExact, sameOutput, sameValue } from './compare.js'
import { type Job, message, type TestsVerdict } from './job.js'
import { argumentsFor, entryPointOf, programSources, promptSources } from './program.js'
import { OUT_OF_MEMORY, type Run, type RunOptions } from './run.js'
import { failureOf, type Outcome, Solution, textOf } from './solution.js'
import type { CodeReason, CodeTask, FunctionTask, Language, ProgramTask, StdinTask } from './task.js'

/** Starts a job in a sandbox. */
export type Start = (language: Language, job: Job, options?: RunOptions) => Promise<Run>

const passed: Outcome = { reason: 'passed', detail: '' }

/** After these the remaining cases are not run: they would end the same way, and cost as much again. */
const final = new Set<CodeReason>(['timeout', 'memory', 'output_limit', 'compile_error', 'error'])

/** Number of tests, and the outcomes of those that were run, in order. */
export async function judge(
  task: CodeTask,
  code: string,
  start: Start,
): Promise<{ tests: number; outcomes: Outcome[] }> {
  if (task.kind === 'program') {
    const entry = entryPointOf(task)
    const judged =
      entry === undefined ? judgeTogether(task, code, start) : judgeApart(task, entry, code, start)
    return { tests: 1, outcomes: [await judged] }
  }
  const tests = task.cases.length
  if (tests === 0) return { tests: 1, outcomes: [{ reason: 'error', detail: 'the task has no tests' }] }
  const judged = task.kind === 'stdin' ? judgeStdin(task, code, start) : judgeFunction(task, code, start)
  return { tests, outcomes: await judged }
}

async function judgeStdin(task: StdinTask, code: string, start: Start): Promise<Outcome[]> {
  const job: Job = { mode: 'script', sources: [code], prelude: true }
  const outcomes: Outcome[] = []
  for (const { input, output } of task.cases) {
    let refusal: string | undefined
    const onMessage = (line: string) => {
      if (line.startsWith('E')) refusal ??= textOf(line)
    }
    const result = await (await start(task.language, job, { input, onMessage })).done
    const outcome = (): Outcome => {
      if (refusal !== undefined) return { reason: 'compile_error', detail: refusal }
      if (result.ended !== 'exit' || result.status !== 0) return failureOf(result)
      if (sameOutput(result.stdout, output)) return passed
      return { reason: 'failed', detail: `wrote ${JSON.stringify(result.stdout.slice(0, 200))}` }
    }
    outcomes.push(outcome())
    if (final.has(outcomes.at(-1)!.reason)) break
  }
  return outcomes
}

/** All calls go to one process; where a call ends it, the next one gets a new one. */
async function judgeFunction(task: FunctionTask, code: string, start: Start): Promise<Outcome[]> {
  const job: Job = { mode: 'serve', sources: [code], prelude: true, entry: task.name }
  const outcomes: Outcome[] = []
  let solution: Solution | undefined
  for (const { args, expected } of task.cases) {
    solution ??= await Solution.start(start, task.language, job, task.cases.length)
    solution.extend()
    const reply = await solution.call(message('C', [argumentsFor(task, args), {}]))
    if (typeof reply !== 'string') {
      outcomes.push(reply)
      solution = undefined
    } else if (reply.startsWith('X')) {
      outcomes.push(thrown(reply))
    } else {
      const equal = sameReply(reply.slice(1), expected)
      outcomes.push(equal ? passed : { reason: 'failed', detail: `returned ${reply.slice(1, 200)}` })
    }
    if (final.has(outcomes.at(-1)!.reason)) break
  }
  await solution?.stop()
  return outcomes
}

/**
 * Tests and solution have a process each; calls and results pass through this one as text. So a solution sees the
 * arguments that the tests choose and nothing else of them, and what it returns is data.
 */
async function judgeApart(task: ProgramTask, entry: string, code: string, start: Start): Promise<Outcome> {
  const sources = programSources({ ...task, entryPoint: entry }, code)
  const serve: Job = { mode: 'serve', sources, prelude: false, entry }
  const solution = await Solution.start(start, task.language, serve)
  let called = false
  let outcome: Outcome | undefined
  const settle = async (found: Outcome) => {
    outcome ??= found
    ;(await tests).stop()
  }
  const onMessage = async (line: string) => {
    if (!line.startsWith('C')) return settle(testsOutcome(line, (verdict) => verdict.passed && called))
    called = true
    const reply = await solution.call(`${line}\n`)
    if (typeof reply === 'string') (await tests).send(`${reply}\n`)
    else await settle(reply)
  }
  const job: Job = { mode: 'judge', setup: promptSources(task), tests: task.tests, entry }
  const tests = start(task.language, job, { onMessage: (line) => void onMessage(line) })
  try {
    const result = await (await tests).done
    return outcome ?? { ...failureOf(result), reason: result.ended === 'timeout' ? 'timeout' : 'error' }
  } finally {
    await solution.stop()
  }
}

/** Without an entry point the tests run behind the solution, and passing means that the end of them was reached. */
async function judgeTogether(task: ProgramTask, code: string, start: Start): Promise<Outcome> {
  const token = randomBytes(16).toString('hex')
  const job: Job = {
    mode: 'together',
    sources: programSources(task, code),
    prelude: false,
    tests: task.tests,
    token,
  }
  let outcome: Outcome | undefined
  const onMessage = (line: string) => {
    if (line.startsWith('E')) outcome ??= { reason: 'compile_error', detail: textOf(line) }
    else outcome ??= testsOutcome(line, (verdict) => verdict.passed && verdict.token === token)
  }
  const result = await (await start(task.language, job, { onMessage })).done
  return outcome ?? failureOf(result)
}

function testsOutcome(line: string, isPass: (verdict: TestsVerdict) => boolean): Outcome {
  if (line.startsWith('T')) return { reason: 'error', detail: `the tests do not compile: ${textOf(line)}` }
  try {
    const verdict: TestsVerdict = JSON.parse(line.slice(1))
    if (isPass(verdict)) return passed
    if (verdict.passed) return { reason: 'error', detail: 'the tests called nothing' }
    const detail = String(verdict.detail)
    return { reason: verdict.remote ? reasonOfError(detail) : 'failed', detail }
  } catch {
    return { reason: 'failed', detail: 'a verdict that cannot be read' }
  }
}

/** A reply comes from the solution, so it may be anything. */
function sameReply(reply: string, expected: unknown): boolean {
  try {
    return sameValue(parseExact(reply), expected)
  } catch {
    return false
  }
}

function thrown(reply: string): Outcome {
  try {
    const [name, text] = JSON.parse(reply.slice(1))
    return { reason: reasonOfError(`${name} ${text}`), detail: text ? `${name}: ${text}` : String(name) }
  } catch {
    return { reason: 'runtime_error', detail: 'an error that cannot be read' }
  }
}

function reasonOfError(text: string): CodeReason {
  return OUT_OF_MEMORY.test(text) ? 'memory' : 'runtime_error'
}
