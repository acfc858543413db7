/**
 * A world of tiny programs: formulas in one variable x with integers, + - * and parentheses, asked for by what they give.
 *
 *     f(1)=5
 *     f(2)=8          <think>                      ```expression
 *     f(6)=20         8-5=3                        3*x+2
 *                     5-3=2                        ```
 *                     3*6=18
 *                     18+2=20
 *                     </think>
 */
import type { RandomStream } from '../../core/random.js'
import type { ChatMessage } from '../../engine/engine.js'
import { apply, type Operator, solveQuestion } from '../arithmetic/expression.js'
import { tags } from '../arithmetic/format.js'
import { wrongResult } from '../arithmetic/slips.js'

/** Value of a formula at x, or undefined where the text is none or a number on the way is above 9999. */
export function runFormula(code: string, x: number): number | undefined {
  const value = solveQuestion(code.trim().replaceAll('x', `(${x})`))
  return value === undefined ? undefined : Number(value)
}

export interface FormulaProblem {
  /** What the formula gives at three places. */
  problem: string
  /** The same as tests of a program. */
  tests: { input: string; output: string }[]
  /** Reasoning and program, both right. */
  solution: string
}

interface Line {
  /** f(x) = slope x + offset at 1, 2 and `at`. */
  slope: number
  offset: number
  at: number
}

/** A formula a x + b, 1 <= a <= 9, 0 <= b <= 20, with three of its values. */
export function formulaProblem(stream: RandomStream): FormulaProblem {
  const line = { slope: 1 + stream.int(9), offset: stream.int(21), at: 3 + stream.int(7) }
  const tests = [1, 2, line.at].map((x) => ({ input: `${x}`, output: `${line.slope * x + line.offset}` }))
  return {
    problem: tests.map(({ input, output }) => `f(${input})=${output}`).join('\n'),
    tests,
    solution: work(line),
  }
}

/**
 * A conversation about a formula; at the rate given one step of the reasoning is wrong, and what follows it is wrong with
 * it, the program included.
 */
export function formulaExample(stream: RandomStream, wrongStepRate: number): ChatMessage[] {
  const { problem, solution } = formulaProblem(stream)
  const wrong = stream.uniform() < wrongStepRate
  const content = wrong ? work(read(problem), { index: stream.int(4), stream }) : solution
  return [
    { role: 'user', content: problem },
    { role: 'assistant', content },
  ]
}

function read(problem: string): Line {
  const [[, first], [, second], [at]] = [...problem.matchAll(/f\((\d+)\)=(\d+)/g)].map(
    ([, x, y]) => [Number(x), Number(y)] as const,
  ) as [readonly [number, number], readonly [number, number], readonly [number, number]]
  return { slope: second - first, offset: first - (second - first), at }
}

function work({ slope, offset, at }: Line, slip?: { index: number; stream: RandomStream }): string {
  const lines: string[] = []
  const step = (op: Operator, left: number, right: number): number => {
    const truth = apply(op, left, right)
    const wrong = slip?.index === lines.length
    const missed = wrong ? Math.abs(wrongResult({ op, left, right }, slip.stream)) : truth
    const value = wrong && missed === truth ? truth + 1 : missed
    lines.push(`${left}${op}${right}=${value}`)
    return value
  }
  const first = slope + offset
  const found = step('-', first + slope, first)
  const rest = Math.max(0, step('-', first, found))
  step('+', step('*', found, at), rest)
  const program = `${found}*x+${rest}`
  return `${tags.thinkOpen}\n${lines.join('\n')}\n${tags.thinkClose}\n\`\`\`expression\n${program}\n\`\`\``
}
