/** R^m: is the final answer right, does the program pass its tests? */
import type { Rollout } from '../../core/rollout.js'
import { type CodeGrader, createCodeGrader, extractCode, type Language } from '../../grader/code/index.js'
import { runFormula } from '../../worlds/expressions/index.js'
import type { GameContext } from '../game.js'
import { oncePerRun } from '../once.js'
import type { Config } from './config.js'
import type { Outcome, Posed } from './play.js'

type Context = GameContext<Config>

/**
 * Checks every completion of every problem; a completion that was cut off is wrong. A problem whose true answer says
 * nothing has no outcomes: it teaches nobody.
 */
export async function checkAnswers(
  ctx: Context,
  posed: readonly Posed[],
  rollouts: readonly Rollout[][],
): Promise<(Outcome[] | null)[]> {
  const total = rollouts.reduce((sum, group) => sum + group.length, 0)
  ctx.phase('answers are checked', 0, total)
  return ctx.config.task === 'maths' ? checkMaths(ctx, posed, rollouts) : checkCode(ctx, posed, rollouts)
}

async function checkMaths(
  ctx: Context,
  posed: readonly Posed[],
  rollouts: readonly Rollout[][],
): Promise<(Outcome[] | null)[]> {
  const cases = posed.flatMap(({ answer }, group) =>
    rollouts[group]!.map(({ text }) => ({ gold: answer, prediction: text })),
  )
  const verdicts = cases.length === 0 ? [] : await ctx.grader.grade(cases)
  return inGroups(verdicts, rollouts).map((own, g) => {
    if (own.some(({ reason }) => reason === 'unparsable_gold')) return null
    return own.map(({ equal, extracted, reason }, i) => {
      const right = equal && rollouts[g]![i]!.stop !== 'length'
      return { reward: Number(right), right, extracted, reason }
    })
  })
}

/** Share of tests passed, in [0, 1]; `code` is null where there is none. */
interface Tested {
  code: string | null
  fraction: number
  reason: string
}

/**
 * Reward of a program, without the format's:
 *
 *     fraction   tests passed / tests                                 (arXiv 2512.16917, appendix C)
 *     open_r1    1[all pass] + 0.1 share of tests passed;  -1 without code, -0.1 where it does not compile
 */
export function codeReward(form: Config['code_reward'], { code, fraction, reason }: Tested): number {
  if (form === 'fraction') return fraction
  if (code === null) return -1
  return reason === 'compile_error' ? -0.1 : Number(fraction === 1) + 0.1 * fraction
}

async function checkCode(
  ctx: Context,
  posed: readonly Posed[],
  rollouts: readonly Rollout[][],
): Promise<Outcome[][]> {
  const { language, code_reward, code_format } = ctx.config
  const items = posed.flatMap((problem, group) => rollouts[group]!.map((rollout) => ({ problem, rollout })))
  const tested =
    language === 'expression'
      ? items.map(({ problem, rollout }) => testFormula(problem, rollout.text))
      : await testPrograms(await codeGrader(ctx), language, items, ctx.signal)
  const block = new RegExp(`\`\`\`${language}\\s*\\n[\\s\\S]*?\`\`\``)
  const outcomes = items.map(({ rollout }, i): Outcome => {
    const test = tested[i]!
    const formatted = block.test(rollout.text) && rollout.stop !== 'length'
    return {
      reward: codeReward(code_reward, test) + (formatted ? code_format : 0),
      right: test.fraction === 1 && rollout.stop !== 'length',
      extracted: test.code,
      reason: test.reason,
    }
  })
  return inGroups(outcomes, rollouts)
}

function testFormula({ tests }: Posed, text: string): Tested {
  const code = /```expression\s*\n([\s\S]*?)```/.exec(text)?.[1]?.trim() || null
  if (code === null) return { code, fraction: 0, reason: 'no_code' }
  const values = tests.map(({ input }) => runFormula(code, Number(input)))
  if (values.every((value) => value === undefined)) return { code, fraction: 0, reason: 'compile_error' }
  const passed = tests.filter(({ output }, i) => String(values[i]) === output.trim()).length
  return { code, fraction: passed / tests.length, reason: passed === tests.length ? 'passed' : 'failed' }
}

/** One for a run: it holds no process while nothing is judged. */
const codeGrader = oncePerRun(async (_: Context) => createCodeGrader())

async function testPrograms(
  grader: CodeGrader,
  language: Language,
  items: readonly { problem: Posed; rollout: Rollout }[],
  signal: AbortSignal,
): Promise<Tested[]> {
  const cases = items.map(({ problem, rollout }) => ({
    task: { kind: 'stdin' as const, language, cases: problem.tests },
    response: rollout.text,
  }))
  const verdicts = await grader.grade(cases, signal)
  return verdicts.map(({ fraction, reason }, i) => ({
    code: extractCode(items[i]!.rollout.text, language),
    fraction,
    reason,
  }))
}

/** Items of all completions in a row, by the groups of the completions. */
function inGroups<T>(items: readonly T[], rollouts: readonly Rollout[][]): T[][] {
  let end = 0
  return rollouts.map((group) => {
    const start = end
    end += group.length
    return items.slice(start, end)
  })
}
