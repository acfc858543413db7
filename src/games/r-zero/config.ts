/** Settings of R-Zero. Defaults are the paper's; `as: code` follows the released code where the two differ. */
import { z } from 'zod'
import { klSettings } from '../grpo/reference.js'
import { lossConflict, lossSettings, samplingSettings } from '../grpo/settings.js'
import { solverSettings } from '../solver.js'
import { challengerTexts } from './prompts.js'

/** Defaults that a preset puts in the place of the paper's. A key the user gives wins over both. */
export const presets = {
  paper: {},
  code: {
    uncertainty: 'minority',
    reward_floor: false,
    share_of: 'votes',
    share_low: 0.3,
    share_high: 0.8,
  },
} as const

const challenger = z.strictObject({
  ...samplingSettings,
  max_tokens: samplingSettings.max_tokens.default(4096),
  temperature: samplingSettings.temperature.default(1),
  top_p: samplingSettings.top_p.default(0.99),
  max_prompt_tokens: z.int().min(1).default(1024).describe('Groups with a longer prompt are left out'),
  think: z
    .boolean()
    .default(false)
    .describe('Open the completion with "<think>" unless the chat template does'),
  system: z.string().default(challengerTexts.system).describe('System message; empty leaves it out'),
  user: z
    .string()
    .default(challengerTexts.user)
    .describe('User message; {knowledge} is the text where there is knowledge'),
})

const settings = z.strictObject({
  as: z
    .enum(['paper', 'code'])
    .default('paper')
    .describe('Whose reading of the method fills the keys left out'),

  challenger_rounds: z.int().min(0).default(5).describe('Rounds in a row in which the challenger learns'),
  pool_rounds: z
    .int()
    .min(1)
    .default(16)
    .describe('Rounds after them in which questions are written and labelled, and nobody learns'),
  solver_rounds: z
    .int()
    .min(1)
    .default(15)
    .describe('Rounds after them in which the solver learns from the questions that are left'),

  knowledge: z
    .string()
    .min(1)
    .default('none')
    .describe(
      'none, as in the paper; or a file of texts, one of which every group of the challenger is shown',
    ),
  groups: z.int().min(1).default(128).describe('Prompts of the challenger in a round'),
  questions: z.int().min(1).default(4).describe('Questions to each prompt, the group of the challenger'),
  votes: z.int().min(1).default(10).describe('m: answers of the solver that vote on the label of a question'),
  questions_per_round: z
    .int()
    .min(1)
    .default(128)
    .describe('Questions that the solver learns from in a round'),
  answers: z.int().min(1).default(5).describe('G: answers to each of them, the group of the solver'),
  steps: z
    .int()
    .min(1)
    .default(1)
    .describe('Optimizer steps of a round, among which its groups are shared out'),

  uncertainty: z
    .enum(['tent', 'minority'])
    .default('tent')
    .describe('1 - 2|s - 1/2|, or min(s, 1 - s), which is half of it'),
  reward_floor: z.boolean().default(true).describe('A question never earns less than 0'),
  malformed_reward: z.number().default(-1).describe('What a completion without a question earns'),
  cluster_distance: z
    .number()
    .min(0)
    .default(0.5)
    .describe('Questions whose clusters are nearer than this, by 1 - BLEU, count as repeated'),
  share_of: z
    .enum(['samples', 'votes'])
    .default('samples')
    .describe('Whether s is the share of the majority among all answers or among those with a result'),
  share_low: z
    .number()
    .min(0)
    .max(1)
    .default(0.25)
    .describe('Least s of a question that the solver learns from'),
  share_high: z
    .number()
    .min(0)
    .max(1)
    .default(0.75)
    .describe('Largest s of a question that the solver learns from'),

  kl: klSettings.kl.default(0.01),
  ...lossSettings,
  normaliser: lossSettings.normaliser.default('token_mean'),
  challenger: challenger.prefault({}).describe('Sampling and prompt of the challenger'),
  solver: solverSettings.prefault({}).describe('Sampling and prompt of the solver'),
})

export type Config = z.output<typeof settings>

const checked = settings.superRefine((config, issues) => {
  for (const role of ['challenger', 'solver'] as const) {
    const message = lossConflict(config, config[role])
    if (message) issues.addIssue({ code: 'custom', path: ['old_logprobs'], message })
  }
  if (config.share_low > config.share_high) {
    issues.addIssue({ code: 'custom', path: ['share_low'], message: 'share_low is above share_high' })
  }
  if (config.knowledge !== 'none' && !config.challenger.user.includes('{knowledge}')) {
    const message = 'there is knowledge, and no {knowledge} in the user message to show it in'
    issues.addIssue({ code: 'custom', path: ['challenger', 'user'], message })
  }
})

/** Puts the preset's defaults behind the keys that were given; what is no preset is left for the schema to name. */
function withPreset(given: unknown): unknown {
  if (typeof given !== 'object' || given === null) return given
  const name = 'as' in given ? given.as : 'paper'
  return name === 'code' ? { ...presets.code, ...given } : given
}

export const config: z.ZodType<Config> = z.preprocess(withPreset, checked)
