/** The solver's solutions, and what decides whether they are right. */
import type { GameContext } from '../game.js'
import { against, comparisons } from '../grading.js'
import { sampleGroups } from '../grpo/sampling.js'
import type { Problem } from '../problems.js'
import { encodeQuestion, isFormatted } from '../solver.js'
import { countVotes } from '../vote.js'
import type { Config } from './config.js'
import type { Solution, Solved } from './solution.js'
import { splitSteps } from './steps.js'

type Context = GameContext<Config>

/** Samples G solutions to each problem and labels them. */
export async function solve(ctx: Context, problems: readonly Problem[]): Promise<Solved[]> {
  const { config } = ctx
  const { tokenizer } = ctx.roles.solver!.policy
  const prompts = problems.map(({ problem }) => encodeQuestion(tokenizer, config.solver, problem))
  const groups = await sampleGroups(ctx, 'solver', prompts, config.answers, config.solver)
  const solved = problems.map(({ problem, answer }, index): Solved => {
    const solutions = groups[index]!.map(
      (rollout): Solution => ({
        rollout,
        steps: splitSteps(rollout.text, config.split, config.max_steps),
        right: undefined,
        formatted: isFormatted(rollout),
        verdict: undefined,
      }),
    )
    return {
      problem,
      answer,
      index,
      prompt: prompts[index]!,
      label: null,
      share: undefined,
      labelRight: undefined,
      solutions,
    }
  })
  ctx.phase('solutions are graded')
  return config.labels === 'gold' ? byAnswer(ctx, solved) : byMajority(ctx, solved)
}

async function byAnswer({ grader }: Context, solved: readonly Solved[]): Promise<Solved[]> {
  const compared = comparisons()
  const verdicts = solved.map(({ answer, solutions }) =>
    compared.add(
      against(
        answer!,
        solutions.map(({ rollout }) => rollout),
      ),
    ),
  )
  await compared.grade(grader)
  return solved.map((each, i) => {
    const own = verdicts[i]!()
    const solutions = each.solutions.map((solution, j) => ({
      ...solution,
      verdict: own[j],
      right: own[j]!.equal,
    }))
    return { ...each, label: each.answer!, solutions }
  })
}

/**
 * No answer key: the answer of the majority counts as right if enough solutions give it; else the problem is skipped. A
 * known answer is compared with it afterwards, for the audit, and decides nothing.
 */
async function byMajority({ grader, config }: Context, solved: readonly Solved[]): Promise<Solved[]> {
  const ballots = solved.map(({ problem, solutions }) => ({
    question: problem,
    texts: solutions.map(({ rollout }) => rollout.text),
  }))
  const votes = await countVotes(grader, ballots)
  const compared = comparisons()
  const audits = solved.map(({ answer }, i) => {
    const label = votes[i]!.answer
    const known = answer !== undefined && label !== null
    return compared.add(known ? [{ gold: answer, prediction: label, kind: 'answer' }] : [])
  })
  await compared.grade(grader)
  return solved.map((each, i) => {
    const { answer, count, agrees } = votes[i]!
    const share = each.solutions.length === 0 ? 0 : count / each.solutions.length
    const enough = answer !== null && share >= config.majority_share
    const solutions = each.solutions.map((solution, j) => ({
      ...solution,
      right: enough ? agrees[j]! : undefined,
    }))
    return {
      ...each,
      label: enough ? answer : null,
      share,
      labelRight: enough ? audits[i]!()[0]?.equal : undefined,
      solutions,
    }
  })
}
