/** Settings of GAR. Defaults are the paper's where it says; `variant` fills in what a variant of it differs in. */
import { z } from 'zod'
import { lossConflict, lossSettings, lossTemperature, samplingSettings } from '../grpo/settings.js'
import { defaultPrompts } from './prompts.js'
import { defaultMarkers } from './slicer.js'

/** What each variant puts in the place of the defaults. A key the user gives wins over both. */
export const variants = {
  full: {},
  grpo: { judge: 'none', train_discriminator: false, lambda2: 0 },
  raw_critic: { judge: 'solution', train_discriminator: false },
  fixed: { train_discriminator: false },
  alignment_only: { lambda3: 0 },
  discrimination_only: { lambda4: 0 },
  untruncated: { discriminator: { max_tokens: 4096 } },
  partial: { partial_slices: 3, lambda1: 0, lambda4: 0 },
  style: { partial_slices: 3, lambda1: 0, lambda4: 0, references: 'unpaired' },
  code: { task: 'code' },
} as const satisfies Record<string, object>

const regularExpression = z.string().refine((source) => {
  try {
    new RegExp(source, 'u')
    return true
  } catch {
    return false
  }
}, 'is not a regular expression')

export const dataSettings = {
  data: z
    .strictObject({
      path: z.string().default('').describe('JSONL or Parquet file of problems, or a folder of such files'),
      problem: z.string().default('problem').describe('Column of the problem'),
      answer: z.string().default('answer').describe('Column of the true answer; not read for code'),
      traces: z
        .string()
        .default('generations')
        .describe('Column of worked solutions to refer to: a text or a list'),
      correct: z
        .string()
        .default('correctness_math_verify')
        .describe('Column that says of each worked solution whether it is right; wrong ones are left out'),
      tests: z
        .string()
        .default('examples')
        .describe('Column of the public tests of code: a list of {input, output}'),
      rows: z.int().min(0).default(0).describe('Problems drawn from the file by the seed; 0 takes all'),
    })
    .prefault({})
    .describe('Problems and worked solutions'),
}

export const slicerSettings = {
  slicer: z
    .strictObject({
      delimiter: regularExpression
        .default('\\n+')
        .describe('Regular expression; the text is cut behind what it matches'),
      markers: z
        .array(z.string().min(1))
        .default([...defaultMarkers])
        .describe('What a segment begins with where a new thought begins; none: every segment begins one'),
      min_tokens: z.int().min(0).default(64).describe('Tokens below which a slice does not end of itself'),
      max_tokens: z.int().min(1).default(320).describe('L: tokens that a slice should not exceed'),
      context: regularExpression
        .default('')
        .describe(
          'What the discriminator is shown of the text before a slice: the match at its end; empty shows none',
        ),
    })
    .prefault({})
    .describe('How reasoning is cut into slices'),
}

export const discriminatorPromptSettings = {
  sees_question: z.boolean().default(true).describe('Show the question beside the slice'),
  system: z
    .string()
    .default(defaultPrompts.discriminator.system)
    .describe('System message; empty leaves it out'),
  user: z
    .string()
    .includes('{slice}')
    .default(defaultPrompts.discriminator.user)
    .describe('User message; {question} and {slice} are put in'),
  user_without_question: z
    .string()
    .includes('{slice}')
    .default(defaultPrompts.discriminator.user_without_question)
    .describe('User message without sees_question'),
}

const temperature = samplingSettings.temperature.default(1)
const kl = z
  .number()
  .min(0)
  .default(0.04)
  .describe('beta: coefficient of the penalty for leaving the start weights; 0 keeps no copy of them')

const reasoner = z.strictObject({
  ...samplingSettings,
  temperature,
  max_tokens: samplingSettings.max_tokens.default(4096),
  max_prompt_tokens: z.int().min(1).default(512).describe('Problems with longer prompts are not asked'),
  kl,
  think: z
    .boolean()
    .default(true)
    .describe('Open the completion with "<think>" unless the chat template does'),
  system: z.string().default(defaultPrompts.reasoner.system).describe('System message; empty leaves it out'),
  user: z
    .string()
    .includes('{question}')
    .default(defaultPrompts.reasoner.user)
    .describe('User message; {question} is the problem'),
})

const discriminator = z.strictObject({
  ...samplingSettings,
  temperature,
  max_tokens: samplingSettings.max_tokens.default(128),
  max_prompt_tokens: z.int().min(1).default(1024).describe('Slices with longer prompts are not judged'),
  kl,
  ...discriminatorPromptSettings,
})

const weight = (value: number, text: string) => z.number().min(0).default(value).describe(text)

const settings = z.strictObject({
  variant: z
    .enum(Object.keys(variants) as [keyof typeof variants])
    .default('full')
    .describe('Variant of the method that fills the keys left out'),

  ...dataSettings,
  references: z
    .union([
      z.enum(['paired', 'unpaired']),
      z.strictObject({
        path: z.string().min(1).describe('JSONL or Parquet file of worked solutions'),
        column: z.string().default('text').describe('Column that holds them: a text or a list'),
        problem: z.string().default('problem').describe('Column of the problem that they solve'),
      }),
    ])
    .default('paired')
    .describe(
      "Where reference slices come from: the problem's own worked solutions, those of any problem, or a file",
    ),
  problems_per_round: z.int().min(1).default(24).describe('Problems of a round'),
  answers: z.int().min(1).default(8).describe('G: completions of a problem, the group of the reasoner'),

  task: z
    .enum(['maths', 'code'])
    .default('maths')
    .describe('What the reasoner writes: an answer or a program'),
  language: z
    .enum(['python', 'javascript', 'expression'])
    .default('python')
    .describe('Language of programs; expression: a formula in x, run by the game itself'),
  code_reward: z
    .enum(['fraction', 'open_r1'])
    .default('fraction')
    .describe(
      'Reward of a program: the share of tests passed; or 1 if all pass, + 0.1 x share, -1 without code',
    ),
  code_format: weight(1, 'Added to the reward of a program that stands in a block marked with its language'),

  lambda1: weight(1, 'Weight of R^m, the answer, for the reasoner'),
  lambda2: weight(1, 'Weight of R^s, the verdicts on its slices, for the reasoner'),
  lambda3: weight(1, 'Weight of R^d, telling sources apart, for the discriminator'),
  lambda4: weight(0.5, 'Weight of R^a, agreeing with the answer, for the discriminator'),
  rd_form: z
    .enum(['hard', 'ipw', 'bce'])
    .default('hard')
    .describe('How R^d becomes a reward: 1[v = s], that over the probability of s, or a loss of its own'),
  ipw_floor: z.number().gt(0).max(1).default(0.1).describe('Least probability that ipw divides by'),
  format_penalty: weight(0.5, 'Taken from the discriminator where no verdict can be read'),

  judge: z
    .enum(['slices', 'solution', 'none'])
    .default('slices')
    .describe('What the discriminator judges: every slice, the whole reasoning at once, or nothing'),
  train_discriminator: z.boolean().default(true).describe('Off: the discriminator stays as it is'),
  max_slices: z
    .int()
    .min(0)
    .default(0)
    .describe('Slices of a completion that are judged, evenly spaced; 0 judges all'),
  partial_slices: z
    .int()
    .min(0)
    .default(0)
    .describe('Stop after so many slices, without an answer; 0 writes to the end'),
  verdicts: z.int().min(1).default(1).describe('Verdicts sampled on each slice'),
  discriminator_group: z
    .enum(['problem', 'slice'])
    .default('problem')
    .describe('Verdicts whose rewards are compared: all on one problem, or those on one slice'),

  guard_rounds: z
    .int()
    .min(0)
    .default(20)
    .describe('Rounds in a row with nearly constant verdicts after which lambda3 is halved; 0 never halves'),
  guard_margin: z
    .number()
    .min(0)
    .max(0.5)
    .default(0.05)
    .describe('Verdicts on generated slices are nearly constant below this share of YES, or of NO'),

  calibration_slices: z
    .int()
    .min(0)
    .default(256)
    .describe('Verdicts of a round whose p_YES is measured; ipw and bce measure all'),
  probe_every: z
    .int()
    .min(0)
    .default(0)
    .describe('Rounds between probes with planted errors and with the start discriminator; 0 never probes'),
  probe_slices: z.int().min(2).default(128).describe('Slices of a probe'),

  ...lossSettings,
  normaliser: lossSettings.normaliser.default('token_mean'),
  ...slicerSettings,
  reasoner: reasoner.prefault({}).describe('Sampling, prompt and penalty of the reasoner'),
  discriminator: discriminator.prefault({}).describe('Sampling, prompts and penalty of the discriminator'),
})

export type Config = z.output<typeof settings>

const checked = settings.superRefine((config, issues) => {
  const fault = (path: PropertyKey[], message: string) => issues.addIssue({ code: 'custom', path, message })
  for (const role of ['reasoner', 'discriminator'] as const) {
    const conflict = lossConflict(config, config[role])
    if (conflict) fault(['old_logprobs'], conflict)
    if (config[role].kl > 0 && lossTemperature(config, config[role]) !== 1) {
      fault(
        [role, 'kl'],
        'the penalty needs a loss at temperature 1: set temperature 1, kl 0 or tempered_logprobs: false',
      )
    }
  }
  if (config.partial_slices > 0 && (config.lambda1 > 0 || config.lambda4 > 0)) {
    fault(['partial_slices'], 'a partial trace has no answer to reward: set lambda1: 0 and lambda4: 0')
  }
  if (config.judge === 'none' && (config.lambda2 > 0 || config.train_discriminator)) {
    fault(['judge'], 'without a judge there are no verdicts: set lambda2: 0 and train_discriminator: false')
  }
  if (config.discriminator_group === 'slice' && config.train_discriminator && config.verdicts < 2) {
    fault(['verdicts'], 'verdicts on one slice are compared: sample 2 or more')
  }
  if (config.task === 'maths' && config.language === 'expression') {
    fault(['language'], 'is a language of programs: set task: code')
  }
})

/** Puts the variant's settings behind the keys that were given; what is no variant is left for the schema to name. */
function withVariant(given: unknown): unknown {
  if (!isTable(given) || typeof given.variant !== 'string') return given
  if (!Object.hasOwn(variants, given.variant)) return given
  const preset: Record<string, unknown> = variants[given.variant as keyof typeof variants]
  const merged = Object.entries({ ...preset, ...given }).map(([key, value]) => [
    key,
    isTable(value) && isTable(preset[key]) ? { ...preset[key], ...value } : value,
  ])
  return Object.fromEntries(merged)
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export const config: z.ZodType<Config> = z.preprocess(withVariant, checked)
