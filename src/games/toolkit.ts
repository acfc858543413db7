/**
 * What games are made of, for games of your own: `sparring/games`. docs/new-game.md builds one.
 * @module
 */
export { z } from 'zod'
export type { RandomStream } from '../core/random.js'
export type { Rollout } from '../core/rollout.js'
export { lastBoxed } from '../grader/extract/boxed.js'
export { type ChatPrompt, chat, encodePrompt, fill } from './chat.js'
export type {
  Demand,
  Game,
  GameContext,
  NeededFile,
  Role,
  RolloutRecord,
  RoundReport,
  Workload,
  World,
} from './game.js'
export { against, type Comparisons, comparisons } from './grading.js'
export { allEqual, groupAdvantages, mean, std } from './grpo/advantages.js'
export type { Sample } from './grpo/data.js'
export {
  fraction,
  type Metrics,
  passRateMetrics,
  prefixed,
  rewardMetrics,
  rolloutMetrics,
  stepMetrics,
  verdictMetrics,
} from './grpo/metrics.js'
export { groupRecords, groupSamples, type ScoredGroup } from './grpo/records.js'
export { klSettings, klTerm, startPolicies } from './grpo/reference.js'
export { sampleGroups } from './grpo/sampling.js'
export { lossSettings, samplingSettings } from './grpo/settings.js'
export { policyStep, policySteps, type StepReport, type StepSettings, shareOut } from './grpo/step.js'
export { oncePerRun } from './once.js'
export { takeInPasses } from './passes.js'
export {
  type LabelledProblem,
  labelledProblemsOfRound,
  labelledSource,
  type Problem,
  problemSettings,
  problemSource,
  problemsOfRound,
} from './problems.js'
export { encodeQuestion, isFormatted, type SolverSettings, solverPrompt, solverSettings } from './solver.js'
export { type Ballot, countVotes, type Vote } from './vote.js'
