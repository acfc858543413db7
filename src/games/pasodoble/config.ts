/** Settings of PasoDoble. Defaults are the paper's; `as: code` follows the released code where the two differ. */
import { z } from 'zod'
import { lossConflict, lossSettings, samplingSettings } from '../grpo/settings.js'
import { defaultPrompts } from './prompts.js'

/** Defaults that a preset puts in the place of the paper's. A key the user gives wins over both. */
export const presets = {
  paper: {},
  code: {
    diversity_gate: 'above',
    hacking_check_scope: 'proposer',
    leak_min_length: 1,
    history_update: 'whole_batch',
    skip_both_on_equal_rewards: true,
    ask_malformed: true,
    over_limit: 'cut',
  },
} as const

const knowledge = z.strictObject({
  path: z.string().describe('File of knowledge texts: JSONL or Parquet'),
  column: z.string().default('text').describe('Column that holds the text'),
  max_tokens: z
    .int()
    .min(1)
    .default(1024)
    .describe("Longer texts are left out; tokens of the proposer's tokenizer"),
})

const proposer = z.strictObject({
  ...samplingSettings,
  max_prompt_tokens: z.int().min(1).default(1280).describe('Longest prompt, see over_limit'),
  think: z
    .boolean()
    .default(true)
    .describe('Open the completion with "<think>" unless the chat template does'),
  system: z.string().default(defaultPrompts.proposer.system).describe('System message; empty leaves it out'),
  user: z
    .string()
    .includes('{knowledge}')
    .default(defaultPrompts.proposer.user)
    .describe('User message where there is knowledge; {knowledge} is the text'),
  user_without_knowledge: z
    .string()
    .default(defaultPrompts.proposer.user_without_knowledge)
    .describe('User message where there is none'),
})

const solver = z.strictObject({
  ...samplingSettings,
  max_prompt_tokens: z.int().min(1).default(512).describe('Longest prompt, see over_limit'),
  think: z
    .boolean()
    .default(true)
    .describe('Open the completion with "<think>" unless the chat template does'),
  system: z.string().default(defaultPrompts.solver.system).describe('System message; empty leaves it out'),
  user: z
    .string()
    .includes('{question}')
    .default(defaultPrompts.solver.user)
    .describe('User message; {question} is the question'),
})

const offline = z.strictObject({
  proposer_updates: z.int().min(1).default(10).describe('Updates of the proposer that make up its phase'),
  solver_updates: z.int().min(1).default(5).describe('Updates of the solver that make up its phase'),
  questions_per_update: z
    .int()
    .min(1)
    .default(6)
    .describe('Questions that the solver takes from the buffer for one update'),
  max_failed_draws: z
    .int()
    .min(1)
    .default(10)
    .describe('Draws in a row without anything to learn from that end a phase'),
  buffer_cap: z
    .int()
    .min(0)
    .default(0)
    .describe('Questions in the buffer beyond which the oldest are dropped; 0 is no limit'),
  eviction: z
    .enum(['none', 'authors'])
    .default('none')
    .describe(
      "Questions that leave the buffer: none, or by the authors' unused rule: solved every time, or three visits without a rise",
    ),
})

const settings = z.strictObject({
  as: z
    .enum(['paper', 'code'])
    .default('paper')
    .describe('Whose reading of the method fills the keys left out'),

  schedule: z
    .enum(['online', 'offline'])
    .default('online')
    .describe('Both roles take their steps in every round, or the roles take turns'),
  offline: offline.prefault({}).describe('Phases and question buffer of the offline schedule'),

  knowledge: z
    .union([knowledge, z.literal('none'), z.literal(false)])
    .default('none')
    .describe('Texts that problems are drawn from, or none'),
  texts_per_round: z
    .int()
    .min(1)
    .default(1)
    .describe('Knowledge texts of a round; each is a batch of its own'),
  questions: z.int().min(1).default(6).describe('I: questions per text, the group of the proposer'),
  answers: z.int().min(1).default(6).describe('J: answers per question, the group of the solver'),

  tau_low: z.number().default(0.2).describe('A question must be solved more often than this'),
  tau_high: z.number().default(1).describe('The solver learns from questions solved less often than this'),
  w: z.number().default(0.2).describe('Weight of diversity in the reward of the proposer'),
  diversity: z.boolean().default(true).describe('Off: no diversity bonus and no diversity gate'),
  tau_div: z.number().default(0.3).describe('Least diversity of a question that earns a reward'),
  diversity_gate: z
    .enum(['at_least', 'above'])
    .default('at_least')
    .describe('Whether a diversity of exactly tau_div passes'),
  tau_sim: z.number().default(0.8).describe('Jaccard index above which a question repeats another'),
  history_size: z.int().min(1).default(100).describe('|H|: questions remembered for diversity'),
  history_update: z
    .enum(['well_formed', 'whole_batch'])
    .default('well_formed')
    .describe('What enters H: every well-formed question, or whole batches that hold one with p > tau_low'),

  reject_question_in_answer: z
    .boolean()
    .default(true)
    .describe('Hacking check: the question is part of its answer'),
  reject_box_in_question: z.boolean().default(true).describe('Hacking check: the question shows a \\boxed{}'),
  reject_answer_in_question: z
    .boolean()
    .default(true)
    .describe('Hacking check: the answer is part of the question'),
  leak_min_length: z
    .int()
    .min(1)
    .default(3)
    .describe('Characters of the shortest answer that must not be part of the question'),
  hacking_check_scope: z
    .enum(['everywhere', 'proposer'])
    .default('everywhere')
    .describe("Whether rejected questions are kept from the solver's update as well"),

  skip_both_on_equal_rewards: z
    .boolean()
    .default(false)
    .describe('Equal proposer rewards in a batch keep the solver from learning from it as well'),
  gate_solver_on_diversity: z
    .boolean()
    .default(false)
    .describe('The solver learns from diverse questions only'),
  solver_steps: z
    .enum(['per_question', 'per_batch'])
    .default('per_question')
    .describe('Gradient steps of the solver in a round: one a valid question, or one in all'),
  frozen: z.enum(['none', 'proposer']).default('none').describe('Role that is played but not trained'),
  self_play: z
    .boolean()
    .default(false)
    .describe("The solver's policy plays and trains both roles, with the one optimizer that it has"),

  answer_reward: z
    .enum(['match', 'random', 'partially_random'])
    .default('match')
    .describe(
      'Controls of section 7: a coin for every answer, or for every boxed answer, in place of the match',
    ),
  ask_malformed: z
    .boolean()
    .default(false)
    .describe('Questions without text or answer are put to the solver all the same'),
  over_limit: z
    .enum(['skip', 'cut'])
    .default('skip')
    .describe(
      'Prompts over max_prompt_tokens are not sampled, or sampled whole and trained with their beginning cut',
    ),

  ...lossSettings,
  proposer: proposer.prefault({}).describe('Sampling and prompts of the proposer'),
  solver: solver.prefault({}).describe('Sampling and prompts of the solver'),
})

export type Config = z.output<typeof settings>

const checked = settings.superRefine((config, issues) => {
  for (const role of ['proposer', 'solver'] as const) {
    const message = lossConflict(config, config[role])
    if (message) issues.addIssue({ code: 'custom', path: ['old_logprobs'], message })
  }
  if (config.self_play && config.frozen === 'proposer') {
    const message =
      'a proposer that the solver plays as well cannot be frozen: set self_play: false or frozen: none'
    issues.addIssue({ code: 'custom', path: ['self_play'], message })
  }
})

/** Puts the preset's defaults behind the keys that were given; what is no preset is left for the schema to name. */
function withPreset(given: unknown): unknown {
  if (typeof given !== 'object' || given === null) return given
  const name = 'as' in given ? given.as : 'paper'
  return name === 'code' ? { ...presets.code, ...given } : given
}

export const config: z.ZodType<Config> = z.preprocess(withPreset, checked)
