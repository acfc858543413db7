import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { link, onAbort, rest, unlessAborted } from './abort.js'
import { Budget } from './budget.js'

const count = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

describe('signals', () => {
  it('are heard by many through one listener, which goes with the last', () => {
    const controller = new AbortController()
    const heard: number[] = []
    const releases = [1, 2, 3].map((n) => onAbort(controller.signal, () => heard.push(n)))
    expect(count(controller.signal)).toBe(1)
    releases[1]!()
    releases[1]!()
    controller.abort()
    expect(heard).toEqual([1, 3])
    for (const release of releases) release()
    const other = new AbortController()
    onAbort(other.signal, () => {})()
    expect(count(other.signal)).toBe(0)
  })

  it('end what is linked to them, also where they had ended before', () => {
    const ended = AbortSignal.abort(new Error('over'))
    const linked = link([undefined, ended])
    expect(linked.signal.reason).toEqual(new Error('over'))
    linked.release()
    const free = new AbortController()
    const released = link([free.signal])
    released.release()
    free.abort()
    expect(released.signal.aborted).toBe(false)
  })

  it('end waits with their reasons, and leave nothing behind', async () => {
    const { signal } = new AbortController()
    expect(await unlessAborted(Promise.resolve(1), signal)).toBe(1)
    await rest(1, signal)
    expect(count(signal)).toBe(0)
    const controller = new AbortController()
    const waiting = rest(60_000, controller.signal)
    controller.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await expect(unlessAborted(Promise.resolve(1), controller.signal)).rejects.toThrow('enough')
  })
})

describe('Budget', () => {
  const { signal } = new AbortController()

  it('admits in order what fits, and what is too large alone', async () => {
    const budget = new Budget(10)
    const order: number[] = []
    const take = async (n: number, amount: number) => {
      const release = await budget.take(amount, signal)
      order.push(n)
      return release
    }
    const first = await take(1, 6)
    const large = take(2, 50)
    const small = take(3, 1)
    await new Promise((resolve) => setImmediate(resolve))
    expect(order).toEqual([1])
    first()
    first()
    const release = await large
    await new Promise((resolve) => setImmediate(resolve))
    expect(order).toEqual([1, 2])
    release()
    await small
    expect(order).toEqual([1, 2, 3])
  })

  it('lets go of those who no longer wait', async () => {
    const budget = new Budget(1)
    const release = await budget.take(1, signal)
    const controller = new AbortController()
    const waiting = budget.take(1, controller.signal)
    const next = budget.take(1, signal)
    controller.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    release()
    ;(await next)()
    await budget.take(1, signal)
  })

  it('takes another limit at once', async () => {
    const budget = new Budget(1)
    await budget.take(1, signal)
    const second = budget.take(1, signal)
    budget.setLimit(2)
    await second
  })
})
