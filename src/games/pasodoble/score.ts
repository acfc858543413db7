/** From compared answers to rewards, advantages and what may be learned from. */
import type { QuestionHistory } from '../../data/history.js'
import { allEqual, groupAdvantages } from '../grpo/advantages.js'
import type { Config } from './config.js'
import {
  type Batch,
  type Fate,
  type Graded,
  type Grades,
  isWellFormed,
  type Lesson,
  type Scored,
} from './question.js'
import {
  difficultyReward,
  diversityReward,
  type Flaw,
  hackingCheck,
  isDiverse,
  isValidForSolver,
  passRate,
  proposerReward,
} from './rewards.js'

/**
 * Scores the questions of one text against the history as it was before the round. The skip rules: (a) where no
 * question has tau_low < p < tau_high, nobody learns from the text; (b) where all proposer rewards are equal, the
 * proposer does not.
 */
export function score(graded: readonly Graded[], history: QuestionHistory, config: Config): Batch {
  const scaled = { scaleRewards: config.scale_rewards }
  const scored = graded.map((question) => {
    const flaw = hackingCheck(question.question, question.answer, config)
    const measured = passRate(question.rewards)
    const p = flaw ? 0 : measured
    const duplicates = history.duplicates(question.ids, config.tau_sim)
    const diversity = diversityReward(duplicates, history.size)
    const pForSolver = config.hacking_check_scope === 'everywhere' ? p : measured
    const gateOpen = isDiverse(diversity, config) || !config.gate_solver_on_diversity
    return {
      ...question,
      flaw,
      fate: fateOf(question, flaw, p, config),
      passRate: p,
      duplicates,
      difficulty: difficultyReward(p, config.tau_low),
      diversity,
      reward: proposerReward(p, diversity, config),
      solverAdvantages: groupAdvantages(question.rewards, scaled),
      valid: isValidForSolver(pForSolver, config) && gateOpen,
    }
  })

  const rewards = scored.map((question) => question.reward)
  const advantages = groupAdvantages(rewards, scaled)
  const anyValid = scored.some((question) => isValidForSolver(question.passRate, config))
  const proposer = anyValid && !allEqual(rewards)
  return {
    questions: scored.map((question, i) => ({ ...question, advantage: advantages[i]! })),
    trains: { proposer, solver: config.skip_both_on_equal_rewards ? proposer : anyValid },
  }
}

/** Scores fresh answers to a question that was found sound when it was proposed. */
export function rescore<Q extends Grades>(
  question: Q,
  config: Config,
): Q & Pick<Lesson, 'passRate' | 'solverAdvantages' | 'valid'> {
  const p = passRate(question.rewards)
  return {
    ...question,
    passRate: p,
    solverAdvantages: groupAdvantages(question.rewards, { scaleRewards: config.scale_rewards }),
    valid: isValidForSolver(p, config),
  }
}

/** Questions that the solver may learn from. */
export function lessons(batches: readonly Batch[]): Scored[] {
  return batches
    .filter((batch) => batch.trains.solver)
    .flatMap((batch) => batch.questions)
    .filter((question) => question.valid)
}

function fateOf(question: Graded, flaw: Flaw | null, p: number, config: Config): Fate {
  if (!isWellFormed(question)) return 'unparsable'
  if (flaw) return 'leaks_answer'
  if (question.solverPrompt === null) return 'too_long'
  if (p >= config.tau_high) return 'too_easy'
  return p > config.tau_low ? 'valid' : 'too_hard'
}

/** Puts the round's questions into the history, after all of them were scored. */
export function remember(batches: readonly Batch[], history: QuestionHistory, config: Config): void {
  for (const { questions } of batches) {
    const solved = questions.some((question) => question.passRate > config.tau_low)
    const kept =
      config.history_update === 'well_formed' ? questions.filter(isWellFormed) : solved ? questions : []
    for (const question of kept) history.push(question.ids)
  }
}
