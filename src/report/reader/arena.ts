/** The tournament of a run's snapshots, where one was played. */
import { z } from 'zod'
import { DataError } from '../../core/errors.js'
import type { ArenaAnswer } from '../api/arena.js'
import { readWithin } from './files.js'

const MOST_BYTES = 2 ** 22
const share = z.number().nullable()
const ratings = z.array(z.object({ elo: z.number(), low: z.number(), high: z.number() }))

const arena: z.ZodType<ArenaAnswer> = z.object({
  setter: z.string(),
  taker: z.string(),
  point: z.string(),
  rounds: z.array(z.number()),
  cells: z.array(z.array(z.object({ score: share, low: share, high: share, n: z.number() }))),
  elo: z.object({ setter: ratings, taker: ratings }),
})

/** Null where there is none. Throws DataError where what there is cannot be read. */
export async function readArena(root: string): Promise<ArenaAnswer | null> {
  const text = await readWithin(root, 'arena.json', MOST_BYTES)
  if (text === undefined) return null
  try {
    return arena.parse(JSON.parse(text))
  } catch (cause) {
    throw new DataError('arena.json of the run cannot be read.', {
      hint: 'sparring arena RUN plays the tournament again and writes it anew.',
      cause,
    })
  }
}
