/** One record for every rollout of a round: what a viewer needs to follow a question from its birth to its updates. */
import type { GameContext, RolloutRecord } from '../game.js'
import { completionFields } from '../grpo/completion.js'
import type { Config } from './config.js'
import type { Batch, Lesson, Revisited, Scored } from './question.js'

type Context = GameContext<Config>

/**
 * The proposer's groups are the texts, the solver's the questions; `parts.question_id`, unique in the round, ties the two.
 */
export function records(ctx: Context, batches: readonly Batch[]): RolloutRecord[] {
  const { config } = ctx
  return batches.flatMap(({ questions, trains }, b) =>
    questions.flatMap((question, i) => {
      const id = b * config.questions + i
      const proposal: RolloutRecord = {
        role: 'proposer',
        group: b,
        index: i,
        prompt: promptText(ctx, 'proposer', question.prompt),
        ...completionFields(question.rollout, tokenizerOf(ctx, 'proposer')),
        reward: question.reward,
        parts: proposalParts(id, question),
        advantage: question.advantage,
        trained: trains.proposer && config.frozen !== 'proposer',
      }
      const trained = config.schedule === 'online' && trains.solver && question.valid
      return [proposal, ...answerRecords(ctx, question, id, trained)]
    }),
  )
}

/** Of a draw of the solver's phase; `parts.proposed_in` is the round that holds the question's proposal. */
export function revisitRecords(ctx: Context, questions: readonly Revisited[]): RolloutRecord[] {
  return questions.flatMap((question, id) =>
    answerRecords(ctx, question, id, question.valid).map((record) => ({
      ...record,
      parts: { ...record.parts, pass_rate: question.passRate, proposed_in: question.entry.born + 1 },
    })),
  )
}

function answerRecords(ctx: Context, question: Lesson, id: number, trained: boolean): RolloutRecord[] {
  const prompt = question.solverPrompt ? promptText(ctx, 'solver', question.solverPrompt) : ''
  return question.answers.map((rollout, j) => ({
    role: 'solver',
    group: id,
    index: j,
    prompt,
    ...completionFields(rollout, tokenizerOf(ctx, 'solver')),
    reward: question.rewards[j]!,
    parts: answerParts(id, question, j),
    advantage: question.solverAdvantages[j]!,
    trained,
  }))
}

function promptText(ctx: Context, role: string, prompt: Int32Array): string {
  return tokenizerOf(ctx, role).decode(prompt, { special: true })
}

function tokenizerOf({ roles }: Context, role: string) {
  return roles[role]!.policy.tokenizer
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

function answerParts(id: number, question: Lesson, j: number): RolloutRecord['parts'] {
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
