/** What the critic is shown: every solution, and where it learns, planted errors with their untouched twins. */
import { encodePrompt } from '../chat.js'
import type { GameContext } from '../game.js'
import { comparisons } from '../grading.js'
import { withinLimit } from '../solver.js'
import type { Config } from './config.js'
import { type Equation, equationsOf, plantError } from './plant.js'
import { criticPrompt } from './prompts.js'
import type { Exhibit, Solved } from './solution.js'
import { splitSteps } from './steps.js'

type Context = GameContext<Config>

/** The solutions of every problem that is not skipped. */
export function exhibitSolutions(ctx: Context, solved: readonly Solved[]): Exhibit[] {
  return solved.flatMap(({ index, problem, solutions }) =>
    solutions.flatMap(({ steps, right }, solution) => {
      if (right === undefined) return []
      const prompt = encode(ctx, problem, steps)
      return { kind: 'solution' as const, problem: index, solution, steps, right, planted: null, prompt }
    }),
  )
}

/** Right solutions looked at for every pair that is wanted: some have no equation, or one that stays true. */
const PATIENCE = 3

/**
 * Pairs of a right solution with one number or operator changed and of the same solution as it was, so many that they
 * are `evidence_share` of all that the critic is shown. A pair is made only where the checker finds every equation of
 * the solution true and one of the changed solution false, in as many steps.
 */
export async function exhibitEvidence(
  ctx: Context,
  solved: readonly Solved[],
  solutions: number,
): Promise<Exhibit[]> {
  const { evidence_share: share, split, max_steps } = ctx.config
  const pairs = Math.round((solutions * share) / (1 - share) / 2)
  if (pairs === 0) return []
  const stream = ctx.random('evidence')
  const right = solved.flatMap(({ index, problem, solutions }) =>
    solutions.flatMap(({ rollout, steps, right, formatted }, solution) =>
      right && formatted ? { index, problem, text: rollout.text, steps, solution } : [],
    ),
  )
  const compared = comparisons()
  const candidates = stream
    .shuffle(right)
    .slice(0, PATIENCE * pairs)
    .flatMap((original) => {
      const text = plantError(original.text, stream)
      const steps = text === undefined ? [] : splitSteps(text, split, max_steps)
      if (steps.length !== original.steps.length) return []
      return { ...original, changed: steps, before: check(original.steps), after: check(steps) }
    })
  function check(steps: readonly string[]) {
    const equations = equationsOf(steps)
    return { equations, verdicts: compared.add(equations.map(equationCase)) }
  }
  ctx.phase('errors are planted')
  await compared.grade(ctx.grader)

  return candidates
    .flatMap((candidate) => {
      const { index, problem, solution, steps, changed, before, after } = candidate
      const isTrue = before.equations.length > 0 && before.verdicts().every(({ equal }) => equal)
      const first = after.verdicts().findIndex(({ equal }) => !equal)
      if (!isTrue || first < 0) return []
      const planted = after.equations[first]!.step
      const pair: Exhibit[] = [
        {
          kind: 'planted',
          problem: index,
          solution,
          steps: changed,
          right: false,
          planted,
          prompt: encode(ctx, problem, changed),
        },
        {
          kind: 'twin',
          problem: index,
          solution,
          steps,
          right: true,
          planted: null,
          prompt: encode(ctx, problem, steps),
        },
      ]
      return [pair]
    })
    .slice(0, pairs)
    .flat()
}

function equationCase({ left, right }: Equation) {
  return { gold: left, prediction: right, kind: 'answer' as const }
}

function encode(ctx: Context, problem: string, steps: readonly string[]): Int32Array | null {
  const { tokenizer } = ctx.roles.critic!.policy
  return withinLimit(
    encodePrompt(tokenizer, criticPrompt(ctx.config, problem, steps)),
    ctx.config.critic.max_prompt_tokens,
  )
}
