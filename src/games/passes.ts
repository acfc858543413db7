/** The endless row of shuffled passes over a data set: a pure function of position, so that a resumed run needs no cursor. */
import { randomStream } from '../core/random.js'

/** Items first .. first + n - 1 of the row; every pass holds each item once, in an order of its own. None of no items. */
export function takeInPasses<T>(items: readonly T[], first: number, n: number, seed: number): T[] {
  if (items.length === 0) return []
  const shuffles = new Map<number, T[]>()
  return Array.from({ length: n }, (_, i) => {
    const pass = Math.floor((first + i) / items.length)
    const order = shuffles.get(pass) ?? randomStream(seed, 'epoch', pass).shuffle(items)
    shuffles.set(pass, order)
    return order[(first + i) % items.length]!
  })
}
