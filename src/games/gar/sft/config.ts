/** Settings of the discriminator's fine-tuning. Defaults are the paper's where it says. */
import { z } from 'zod'
import { samplingSettings } from '../../grpo/settings.js'
import { dataSettings, discriminatorPromptSettings, slicerSettings } from '../config.js'

const endpoint = z.strictObject({
  url: z
    .string()
    .default('')
    .describe('Base address of an OpenAI-compatible service, such as http://localhost:8000/v1'),
  model: z.string().default('').describe('Name that the service gives to the model'),
  file: z
    .string()
    .default('labels.jsonl')
    .describe('Where its replies are kept; what stands there is not asked again'),
  api_key_env: z.string().default('OPENAI_API_KEY').describe('Environment variable that holds the key'),
  concurrency: z.int().min(1).default(16).describe('Requests under way at once'),
  label_tokens: z.int().min(1).default(512).describe('Most tokens of a reply'),
  label_temperature: z.number().min(0).default(1).describe('Sampling temperature of the service'),
})

const others = z.strictObject({
  path: z.string().default('').describe('JSONL or Parquet file of worked solutions in the other style'),
  column: z.string().default('text').describe('Column that holds them: a text or a list'),
  problem: z.string().default('problem').describe('Column of the problem that they solve'),
})

const discriminator = z.strictObject({
  ...samplingSettings,
  temperature: samplingSettings.temperature.default(1),
  max_tokens: samplingSettings.max_tokens
    .default(128)
    .describe('K: most tokens of a completion; what is taught keeps to it as well'),
  max_prompt_tokens: z.int().min(1).default(1024).describe('Slices with longer prompts are not used'),
  ...discriminatorPromptSettings,
})

export const config = z.strictObject({
  ...dataSettings,
  labels: z
    .enum(['planted', 'endpoint', 'source'])
    .default('planted')
    .describe(
      'Who labels slices: errors planted by rule, a model behind a service, or the kind of solution they come from',
    ),
  endpoint: endpoint.prefault({}).describe('The service that labels'),
  others: others.prefault({}).describe('Solutions that are NO where the source is the label'),
  slices: z.int().min(0).default(0).describe('Slices to label, drawn by the seed; 0 takes all'),
  analysis_tokens: z.int().min(0).default(90).describe('Most tokens of an analysis that is taught'),
  rationale: z.boolean().default(true).describe('Teach why as well, behind the verdict'),

  batch_size: z.int().min(1).default(128).describe('Slices of a round, which is one step'),
  max_sequence_tokens: z.int().min(2).default(1024).describe('Longer sequences are left out'),
  validation_share: z
    .number()
    .gt(0)
    .lt(1)
    .default(0.05)
    .describe('Share of the problems whose slices are measured instead of taught'),
  validation_slices: z.int().min(2).default(256).describe('Most slices of a measurement'),
  validate_every: z.int().min(1).default(50).describe('Rounds between measurements'),
  patience: z
    .int()
    .min(0)
    .default(3)
    .describe('Measurements in a row without a better one after which teaching ends; 0 never ends it'),

  ...slicerSettings,
  discriminator: discriminator.prefault({}).describe('Prompts, and sampling of the measurement'),
})

export type Config = z.output<typeof config>
