/** Settings of GRPO on problems with known answers. Defaults are those of the paper. */
import { z } from 'zod'
import { problemSettings } from '../problems.js'
import { solverSettings } from '../solver.js'
import { klSettings } from './reference.js'
import { lossConflict, lossSettings } from './settings.js'

const settings = z.strictObject({
  ...problemSettings,
  answers: z.int().min(1).default(64).describe('G: answers to each problem, the group'),
  format_reward: z
    .number()
    .min(0)
    .default(0)
    .describe('Added to the reward of an answer that ends by itself and boxes something'),
  steps: z
    .int()
    .min(1)
    .default(1)
    .describe('Optimizer steps of a round, among which its problems are shared out'),
  kl: klSettings.kl.default(0.04),
  ...lossSettings,
  normaliser: lossSettings.normaliser.default('sequence_mean'),
  old_logprobs: lossSettings.old_logprobs.default('sampler'),
  solver: solverSettings.prefault({}).describe('Sampling and prompt of the solver'),
})

export type Config = z.output<typeof settings>

export const config: z.ZodType<Config> = settings.superRefine((config, issues) => {
  const message = lossConflict(config, config.solver)
  if (message) issues.addIssue({ code: 'custom', path: ['old_logprobs'], message })
})
