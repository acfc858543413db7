/** Settings of the solver-critic game. */
import { z } from 'zod'
import { klSettings } from '../grpo/reference.js'
import { lossConflict, lossSettings, samplingSettings } from '../grpo/settings.js'
import { problemSettings } from '../problems.js'
import { solverSettings } from '../solver.js'
import { criticTexts, reviseText } from './prompts.js'

const weight = (fallback: number) => z.number().min(0).default(fallback)

const weights = z.strictObject({
  outcome: weight(1).describe('a: the verdict is that of the checked answer, weighted by class'),
  coherence: weight(0.5).describe(
    'b: verdict, step verdicts and first error agree; paid with a right verdict only',
  ),
  evidence: weight(0.5).describe('e: the planted error is found, its untouched twin called correct'),
  ranking: weight(0.5).describe('r: right solutions score above wrong ones of the same problem'),
  agreement: weight(0.25).describe(
    'k: other critiques of the solution agree; paid with a right verdict only',
  ),
})

const critic = z.strictObject({
  ...samplingSettings,
  max_tokens: samplingSettings.max_tokens.default(1024),
  temperature: samplingSettings.temperature.default(1),
  max_prompt_tokens: z.int().min(1).default(2048).describe('Solutions with a longer prompt are not judged'),
  think: z
    .boolean()
    .default(false)
    .describe('Open the completion with "<think>" unless the chat template does'),
  system: z.string().default(criticTexts.system).describe('System message; empty leaves it out'),
  user: z
    .string()
    .includes('{steps}')
    .default(criticTexts.user)
    .describe('User message; {question} is the problem, {steps} the numbered steps of the solution'),
})

const solver = solverSettings.extend({
  revise_user: z
    .string()
    .includes('{feedback}')
    .default(reviseText)
    .describe('User message that hands a solution back; {feedback} is what the critic said'),
})

const settings = z.strictObject({
  ...problemSettings,
  answers: z.int().min(1).default(8).describe('G: solutions to each problem, the group of the solver'),
  critiques: z
    .int()
    .min(1)
    .default(2)
    .describe('M: critiques of each solution; those of one problem are the group of the critic'),
  split: z
    .enum(['lines', 'links'])
    .default('lines')
    .describe('What a step is: a line, or a link a=b of a line of equations a=b=c'),
  max_steps: z.int().min(1).default(40).describe('Steps that a solution is cut into at most'),

  labels: z
    .enum(['gold', 'majority'])
    .default('gold')
    .describe('What decides whether a solution is right: the known answer, or the majority of the solutions'),
  majority_share: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe('Problems whose majority is smaller than this share of the solutions are skipped'),

  warmup: z.int().min(0).default(40).describe('Rounds at the start in which the critic alone learns'),
  solver_turns: z
    .int()
    .min(1)
    .default(3)
    .describe('Rounds of the solver, after the warm-up and in turn with the critic'),
  critic_turns: z.int().min(1).default(1).describe('Rounds of the critic to those of the solver'),
  frozen: z.enum(['none', 'critic']).default('none').describe('Role that is played but not trained'),
  self_play: z
    .boolean()
    .default(false)
    .describe("The solver's policy plays and trains both roles, with the one optimizer that it has"),

  critique_weight: weight(0.5).describe("w_c: weight of the critic's score in the reward of the solver"),
  gate_right: weight(1).describe('g(1): share of it that a right solution is paid'),
  gate_wrong: weight(0.5).describe('g(0): share of it that a wrong solution is paid; 1 is no gate'),
  format_reward: weight(0.1).describe('Added where a solution ends by itself and boxes something'),

  weights: weights.prefault({}).describe('Weights of the parts of the reward of the critic'),
  unparsable_reward: z.number().default(-0.5).describe('What a critique that cannot be read earns'),
  fooled_penalty: weight(1).describe('Taken off where a wrong solution was called correct'),
  class_decay: z
    .number()
    .min(0)
    .lt(1)
    .default(0.9)
    .describe('Memory of the share of right solutions, by which outcome alignment is weighted'),
  evidence_share: z
    .number()
    .min(0)
    .lt(1)
    .default(0.25)
    .describe('Share of what the critic learns from that is planted errors and their untouched twins'),

  revise: z
    .boolean()
    .default(false)
    .describe('The solver answers again to the feedback, and the critic is paid for it'),
  helpfulness: weight(0.5).describe(
    'Weight of the change that feedback makes, right after less right before',
  ),

  drift_every: z
    .int()
    .min(0)
    .default(10)
    .describe('Rounds of the critic between comparisons with its copy from the start; 0 makes none'),
  kl: klSettings.kl.default(0.01),
  steps: z
    .int()
    .min(1)
    .default(1)
    .describe('Optimizer steps of a round, among which its problems are shared out'),
  ...lossSettings,
  solver: solver.prefault({}).describe('Sampling and prompts of the solver'),
  critic: critic.prefault({}).describe('Sampling and prompt of the critic'),
})

export type Config = z.output<typeof settings>

export const config: z.ZodType<Config> = settings.superRefine((config, issues) => {
  for (const role of ['solver', 'critic'] as const) {
    const message = lossConflict(config, config[role])
    if (message) issues.addIssue({ code: 'custom', path: ['old_logprobs'], message })
  }
  if (config.self_play && config.frozen === 'critic') {
    const message =
      'a critic that the solver plays as well cannot be frozen: set self_play: false or frozen: none'
    issues.addIssue({ code: 'custom', path: ['self_play'], message })
  }
})
