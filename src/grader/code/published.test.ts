/** Published tasks, read from the folder beside the project. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { projectRoot } from '../../core/paths.js'
import { createCodeGrader } from './code-grader.js'
import type { CodeTask, ProgramTask } from './task.js'

const grader = createCodeGrader({ concurrency: 3, limits: { wallMs: 20_000 } })
afterAll(() => grader.close())

const hasPython = works('python3')
const data = join(projectRoot(), '..', 'shared', 'data')

function works(command: string): boolean {
  try {
    execFileSync(command, ['-c', ''], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

function rows(name: string): Record<string, string>[] {
  return readFileSync(join(data, name), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

describe.skipIf(!hasPython || !existsSync(join(data, 'humaneval.jsonl')))('HumanEval', () => {
  const tasks = () =>
    rows('humaneval.jsonl').map(({ problem, answer, test, entry_point }) => ({
      task: {
        kind: 'program',
        language: 'python',
        prompt: problem!,
        tests: test!,
        entryPoint: entry_point!,
      } satisfies ProgramTask,
      answer: answer!,
    }))

  it('passes all reference solutions', async () => {
    const all = tasks().map(({ task, answer }, i) => ({
      task,
      response: i % 2 ? answer : `So:\n\`\`\`python\n${task.prompt}${answer}\n\`\`\``,
    }))
    const verdicts = await grader.grade(all)
    expect(verdicts.flatMap(({ passed, detail }, i) => (passed ? [] : [`${i}: ${detail}`]))).toEqual([])
    expect(verdicts.length).toBe(164)
  })

  it('passes no wrong solution', async () => {
    const wrong = [
      '    return None',
      '    import os; os._exit(0)',
      '    pass\nimport sys; sys.exit()',
      '    raise ValueError',
    ]
    const some = tasks().filter((_, i) => i % 3 === 0)
    const all = some.map(({ task }, i) => ({ task, response: wrong[i % wrong.length]! }))
    expect((await grader.grade(all)).flatMap(({ passed }, i) => (passed ? [i] : []))).toEqual([])
  })
})

describe.skipIf(!existsSync(join(data, 'humaneval_js.jsonl')))('HumanEval in JavaScript', () => {
  const solutions: Record<string, string> = {
    HumanEval_23_strlen: '  return string.length\n}',
    HumanEval_53_add: '  return x + y\n}',
    HumanEval_35_max_element: '```js\nfunction max_element(l) { return Math.max(...l) }\n```',
    HumanEval_60_sum_to_n: '  return n * (n + 1) / 2',
    HumanEval_28_concatenate: '```\nconst concatenate = (strings) => strings.join("")\n```',
  }

  it('passes right solutions and no other', async () => {
    const chosen = rows('humaneval_js.jsonl').filter(({ id }) => id! in solutions)
    const task = ({ problem, tests }: Record<string, string>): ProgramTask => ({
      kind: 'program',
      language: 'javascript',
      prompt: problem!,
      tests: tests!,
    })
    const right = chosen.map((row) => ({ task: task(row), response: solutions[row.id!]! }))
    const wrong = chosen.map((row) => ({ task: task(row), response: '  return null\n}' }))
    const verdicts = await grader.grade([...right, ...wrong])
    expect(verdicts.map(({ reason }) => reason)).toEqual([
      ...right.map(() => 'passed'),
      ...wrong.map(() => 'failed'),
    ])
    expect(chosen.length).toBe(5)
  })
})

describe.skipIf(!hasPython || !existsSync(join(data, 'livecodebench_fewshot.jsonl')))(
  'LiveCodeBench examples',
  () => {
    it('runs programs and methods', async () => {
      const examples = rows('livecodebench_fewshot.jsonl')
      const tasks: Record<string, CodeTask> = {
        'lcb-fewshot-stdin-1': {
          kind: 'stdin',
          language: 'python',
          cases: [
            { input: '11\n00000000008\n', output: '1\n' },
            { input: '22\n0011223344556677889988\n', output: '2' },
            { input: '11\n31415926535\n', output: '0\n\n' },
          ],
        },
        'lcb-fewshot-func-0': {
          kind: 'function',
          language: 'python',
          name: 'unequalTriplets',
          cases: [
            { args: [[4, 4, 2, 4, 3]], expected: 3 },
            { args: [[1, 1, 1, 1, 1]], expected: 0 },
          ],
        },
      }
      const chosen = examples.filter(({ id }) => id! in tasks)
      const verdicts = await grader.grade(
        chosen.map(({ id, answer }) => ({ task: tasks[id!]!, response: answer! })),
      )
      expect(verdicts.map(({ reason }) => reason)).toEqual(['passed', 'passed'])
    })
  },
)
