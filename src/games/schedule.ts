/** Learning-rate schedules: a pure function of the round, so that a resumed run needs no state for them. */
import { z } from 'zod'

export const scheduleSchema = z
  .strictObject({
    shape: z
      .enum(['constant', 'linear', 'cosine'])
      .default('constant')
      .describe(
        'How the learning rate falls after the warm-up: not at all, in a line, or along half a cosine',
      ),
    warmup: z
      .number()
      .min(0)
      .lt(1)
      .default(0)
      .describe('Share of the rounds over which the learning rate rises'),
    floor: z
      .number()
      .min(0)
      .max(1)
      .default(0)
      .describe('Learning rate of the last round, as a share of the highest; linear and cosine only'),
  })
  .prefault({})

export type Schedule = z.output<typeof scheduleSchema>

/**
 * Learning rate of a round, 0 .. rounds - 1. With W = warmup x rounds, rounded, it rises in equal steps and is at its
 * peak in round W - 1; it falls from round W on (where it is still the peak) to floor x peak in the last.
 */
export function scheduledRate(peak: number, schedule: Schedule, round: number, rounds: number): number {
  const { shape, warmup, floor } = schedule
  const rising = Math.round(warmup * rounds)
  if (round < rising) return (peak * (round + 1)) / rising
  if (shape === 'constant') return peak
  const progress = Math.min(1, (round - rising) / Math.max(1, rounds - 1 - rising))
  const left = shape === 'linear' ? 1 - progress : (1 + Math.cos(Math.PI * progress)) / 2
  return peak * (floor + (1 - floor) * left)
}
