/** Duels over questions: one role writes them, the other answers, and nobody learns. */
import { type ChatPrompt, encodePrompt } from './chat.js'
import type { Duel, DuelResult, GameContext } from './game.js'
import { sampleGroups } from './grpo/sampling.js'
import type { SamplingSettings } from './grpo/settings.js'

/** A question with the answer that counts. */
export interface DuelQuestion {
  question: string
  gold: string
}

interface Side {
  /** How a question is put. */
  prompt(question: string): ChatPrompt
  sampling: SamplingSettings & { max_prompt_tokens: number }
}

/**
 * The questions that count, each with its true answer where the run has a world that knows it. Without a world the writer's own
 * answer counts; with one, a question that it cannot read does not.
 */
export function withGold(
  { world }: GameContext<unknown>,
  proposals: readonly { question: string; answer: string }[],
): DuelQuestion[] {
  return proposals.flatMap(({ question, answer }) => {
    if (question === '') return []
    const gold = world ? world.solve(question) : answer
    return gold === undefined || gold === '' ? [] : { question, gold }
  })
}

/** One answer to each question, against the answer that counts; null where the prompt is too long. */
export async function answerAll(
  ctx: GameContext<unknown>,
  role: string,
  questions: readonly DuelQuestion[],
  { prompt, sampling }: Side,
): Promise<DuelResult[]> {
  const { tokenizer } = ctx.roles[role]!.policy
  const prompts = questions.map(({ question }) => {
    const tokens = encodePrompt(tokenizer, prompt(question))
    return tokens.length > sampling.max_prompt_tokens ? null : tokens
  })
  const groups = await sampleGroups(ctx, role, prompts, 1, sampling)
  const cases = questions.flatMap(({ gold }, i) => groups[i]!.map(({ text }) => ({ gold, prediction: text })))
  const verdicts = cases.length === 0 ? [] : await ctx.grader.grade(cases)
  let at = 0
  return groups.map(([rollout]) => ({ points: rollout ? Number(verdicts[at++]!.equal) : null }))
}

export type QuestionDuel<Config> = Duel<Config, DuelQuestion>
