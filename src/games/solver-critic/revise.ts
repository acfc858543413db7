/** The revise round: the solver answers again to every critique, and the critic is paid for the change. */
import { encodePrompt } from '../chat.js'
import type { GameContext } from '../game.js'
import { against, comparisons } from '../grading.js'
import { sampleGroups } from '../grpo/sampling.js'
import { isFormatted, withinLimit } from '../solver.js'
import type { Config } from './config.js'
import { revisePrompt } from './prompts.js'
import type { Judged, Judgement, Solved } from './solution.js'

/**
 * One second answer to each critique of a solution that can be read. The critic's reward grows by
 *
 *     helpfulness (o2* - o*)
 *
 * (Critique-RL, arXiv 2510.24320, stage II). Planted errors are left alone.
 */
export async function revise(
  ctx: GameContext<Config>,
  solved: readonly Solved[],
  judged: readonly Judged[],
): Promise<Judged[]> {
  const { config } = ctx
  const { policy } = ctx.roles.solver!
  const asked = judged.flatMap((exhibit) =>
    exhibit.judgements.flatMap((judgement) => {
      if (exhibit.kind !== 'solution' || judgement.critique === null) return []
      const { problem, solutions, label } = solved[exhibit.problem]!
      const { text } = solutions[exhibit.solution]!.rollout
      const prompt = encodePrompt(
        policy.tokenizer,
        revisePrompt(config, problem, text, judgement.critique.feedback),
      )
      const fits = withinLimit(prompt, config.solver.max_prompt_tokens)
      return fits ? { judgement, prompt: fits, label: label!, right: exhibit.right } : []
    }),
  )
  const prompts = asked.map(({ prompt }) => prompt)
  const answers = (await sampleGroups(ctx, 'revision', prompts, 1, config.solver, policy)).flat()
  const compared = comparisons()
  const verdicts = asked.map(({ label }, i) => compared.add(against(label, [answers[i]!])))
  await compared.grade(ctx.grader)

  const revised = new Map(
    asked.map(({ judgement, prompt, right }, i): [Judgement, Judgement] => {
      const rollout = answers[i]!
      const now = verdicts[i]!()[0]!.equal
      const revision = { prompt, rollout, right: now, formatted: isFormatted(rollout) }
      const change = Number(now) - Number(right)
      return [judgement, { ...judgement, reward: judgement.reward + config.helpfulness * change, revision }]
    }),
  )
  return judged.map((exhibit) => ({
    ...exhibit,
    judgements: exhibit.judgements.map((judgement) => revised.get(judgement) ?? judgement),
  }))
}
