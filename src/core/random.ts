/**
 * Seeded random streams with names. A stream is a pure function of the run's seed and its name, so a resumed run
 * draws what the undisturbed run would have drawn without any generator state being saved: put the round in the name.
 */
import { createHash } from 'node:crypto'
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64'
import { uniformInt } from 'pure-rand/distribution/uniformInt'
import { xoroshiro128plusFromState } from 'pure-rand/generator/xoroshiro128plus'

export interface RandomStream {
  /** Uniform in [0, 1), 53 random bits. */
  uniform(): number
  /** Uniform integer in [0, n). */
  int(n: number): number
  /** Standard normal. */
  normal(): number
  /** One item, uniformly. */
  pick<T>(items: readonly T[]): T
  /** The items in random order; the argument is left as it is. */
  shuffle<T>(items: readonly T[]): T[]
}

/** Names are joined with an unambiguous separator: `('a', 'bc')` and `('ab', 'c')` are different streams. */
export function randomStream(seed: number, ...names: (string | number)[]): RandomStream {
  const digest = createHash('sha256')
    .update(JSON.stringify([seed, ...names]))
    .digest()
  const state = [0, 4, 8, 12].map((offset) => digest.readInt32LE(offset))
  const generator = xoroshiro128plusFromState(state)
  const uniform = () => uniformFloat64(generator)
  const int = (n: number) => uniformInt(generator, 0, n - 1)
  return {
    uniform,
    int,
    normal: () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()),
    pick: (items) => items[int(items.length)]!,
    shuffle: (items) => {
      const out = [...items]
      for (let i = out.length - 1; i > 0; i--) {
        const j = int(i + 1)
        ;[out[i], out[j]] = [out[j]!, out[i]!]
      }
      return out
    },
  }
}
