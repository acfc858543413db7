/** Settings of supervised fine-tuning. Learning rate and schedule belong to the role. */
import { z } from 'zod'

export const config = z.strictObject({
  data: z.array(z.string()).default([]).describe('JSONL files of conversations'),
  batch_size: z.int().min(1).default(32).describe('Sequences of a round, which is one step'),
  epochs: z
    .int()
    .min(0)
    .default(0)
    .describe('Passes over the data after which rounds do nothing; 0 goes on for all rounds'),
  max_tokens: z.int().min(2).default(8192).describe('Longer sequences are left out'),
  validation_share: z
    .number()
    .min(0)
    .lt(1)
    .default(0)
    .describe('Share of the sequences, drawn by the seed, that is measured instead of trained'),
  validate_every: z.int().min(1).default(10).describe('Rounds between measurements of the validation loss'),
})

export type Config = z.output<typeof config>
