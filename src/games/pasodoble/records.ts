/** One record for every rollout of a round: what a viewer needs to follow a question from its birth to its updates. */
import type { Rollout } from '../../core/rollout.js'
import type { GameContext, RolloutRecord } from '../game.js'
import { meanLogprob } from '../grpo/metrics.js'
import type { Config } from './config.js'
import type { Batch, Scored } from './question.js'

/**
 * The proposer's groups are the texts, the solver's the questions; `parts.question_id`, unique in the round, ties the two.
 */
export function records(ctx: GameContext<Config>, batches: readonly Batch[]): RolloutRecord[] {
  const { config, roles } = ctx
  const decode = (role: string, prompt: Int32Array) =>
    roles[role]!.policy.tokenizer.decode(prompt, { special: true })
  return batches.flatMap(({ questions, trains }, b) =>
    questions.flatMap((question, i) => {
      const id = b * config.questions + i
      const proposal: RolloutRecord = {
        role: 'proposer',
        group: b,
        index: i,
        prompt: decode('proposer', question.prompt),
        ...completion(question.rollout),
        reward: question.reward,
        parts: proposalParts(id, question),
        advantage: question.advantage,
        trained: trains.proposer && config.frozen !== 'proposer',
      }
      const prompt = question.solverPrompt ? decode('solver', question.solverPrompt) : ''
      const answers = question.answers.map(
        (rollout, j): RolloutRecord => ({
          role: 'solver',
          group: id,
          index: j,
          prompt,
          ...completion(rollout),
          reward: question.rewards[j]!,
          parts: answerParts(id, question, j),
          advantage: question.solverAdvantages[j]!,
          trained: trains.solver && question.valid,
        }),
      )
      return [proposal, ...answers]
    }),
  )
}

function completion(rollout: Rollout) {
  return {
    text: rollout.text,
    tokens: rollout.tokens.length,
    stop: rollout.stop,
    logprob: meanLogprob(rollout),
  }
}

function proposalParts(id: number, question: Scored): RolloutRecord['parts'] {
  return {
    question_id: id,
    question: question.question,
    answer: question.answer,
    fate: question.fate,
    flaw: question.flaw,
    asked: question.answers.length,
    solved: question.rewards.reduce((sum, reward) => sum + reward, 0),
    pass_rate: question.passRate,
    difficulty: question.difficulty,
    diversity: question.diversity,
    duplicates: question.duplicates,
    valid_for_solver: question.valid,
    truth: question.audit?.truth ?? null,
    label_right: question.audit?.labelRight ?? null,
  }
}

function answerParts(id: number, question: Scored, j: number): RolloutRecord['parts'] {
  return {
    question_id: id,
    question: question.question,
    gold: question.answer,
    extracted: question.verdicts[j]?.extracted ?? null,
    verdict: question.verdicts[j]?.reason ?? null,
    truth: question.audit?.truth ?? null,
    right: question.audit?.answersRight[j] ?? null,
  }
}
