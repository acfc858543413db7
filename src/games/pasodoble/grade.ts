/** The solver's rewards: every answer of a round compared in one call to the grader. */
import { lastBoxed } from '../../grader/extract/boxed.js'
import type { Verdict } from '../../grader/grader.js'
import type { GameContext } from '../game.js'
import type { Config } from './config.js'
import type { Answers, Grades, Question } from './question.js'

/**
 * r^s_ij of every answer. A question without an answer of its own gives 0 throughout; so does an answer that boxes
 * nothing. Where the run has a world, the same call audits the labels; the audit touches no reward.
 */
export async function grade<Q extends Question & Answers>(
  ctx: GameContext<Config>,
  questions: readonly Q[],
): Promise<(Q & Grades)[]> {
  const { config, world } = ctx
  const cases: { gold: string; prediction: string }[] = []
  const compare = (gold: string, predictions: readonly string[]) => {
    const from = cases.length
    cases.push(...predictions.map((prediction) => ({ gold, prediction })))
    return (verdicts: readonly Verdict[]) => verdicts.slice(from, from + predictions.length)
  }

  const comparisons = questions.map(({ question, answer, answers }) => {
    const texts = answers.map((rollout) => rollout.text)
    const truth = question === '' ? undefined : world?.solve(question)
    return {
      match: config.answer_reward === 'match' && answer !== '' ? compare(answer, texts) : () => [],
      audit: truth !== undefined && {
        truth,
        label: compare(truth, answer === '' ? [] : [`\\boxed{${answer}}`]),
        answers: compare(truth, texts),
      },
    }
  })

  ctx.phase('answers are graded', 0, cases.length)
  const verdicts = cases.length === 0 ? [] : await ctx.grader.grade(cases)

  return questions.map((question, i) => {
    const { match, audit } = comparisons[i]!
    const own = match(verdicts)
    const coin = ctx.random('answer_reward', i)
    return {
      ...question,
      verdicts: own,
      rewards: question.answers.map(({ text }, j) => {
        if (config.answer_reward === 'match') return Number(own[j]?.equal ?? false)
        const blank = question.answer === '' || lastBoxed(text) === undefined
        return config.answer_reward === 'partially_random' && blank ? 0 : coin.int(2)
      }),
      audit: audit
        ? {
            truth: audit.truth,
            labelRight: audit.label(verdicts).some((verdict) => verdict.equal),
            answersRight: audit.answers(verdicts).map((verdict) => verdict.equal),
          }
        : undefined,
    }
  })
}
