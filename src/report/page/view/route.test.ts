import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatRoute, parseRoute, type Route } from './route.js'

const run = fc.string({ minLength: 1, unit: 'grapheme' })
const round = fc.nat(10_000)
const range = fc
  .tuple(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  )
  .map(([low, high]) => [low || 0, high || 0] as [number, number])
const query = fc.record(
  {
    from: round,
    to: round,
    role: run,
    outcome: run,
    text: run,
    order: fc.constantFrom('new' as const, 'best' as const, 'worst' as const, 'random' as const),
    reward: range,
    rate: range,
    trained: fc.boolean(),
  },
  { requiredKeys: [] },
)

const routes: fc.Arbitrary<Route> = fc.oneof(
  fc.constant({ page: 'runs' as const }),
  fc.record({
    page: fc.constant('run' as const),
    run,
    tab: fc.constantFrom('overview' as const, 'metrics' as const, 'game' as const),
  }),
  fc.record({
    page: fc.constant('run' as const),
    run,
    tab: fc.constant('metrics' as const),
    from: round,
    to: round,
  }),
  fc.record({ page: fc.constant('rollouts' as const), run, query }),
  fc.record({ page: fc.constant('rollouts' as const), run, query, beside: query }),
  fc.record({ page: fc.constant('match' as const), run, ref: fc.record({ round, role: run, line: round }) }),
  fc.record({ page: fc.constant('compare' as const), runs: fc.array(run, { maxLength: 4 }) }),
)

describe('addresses of the page', () => {
  it('lead back to what they were made of', () => {
    fc.assert(
      fc.property(routes, (route) => {
        expect(parseRoute(formatRoute(route))).toEqual(route)
      }),
    )
  })

  it('lead to the list of runs where they make no sense', () => {
    for (const hash of ['', '#', '#/nowhere', '#/run', '#/run/']) {
      expect(parseRoute(hash)).toEqual({ page: 'runs' })
    }
    expect(parseRoute('#/run/a%')).toEqual({ page: 'run', run: 'a%', tab: 'overview' })
    expect(parseRoute('#/run/a/match?round=x')).toEqual({ page: 'run', run: 'a', tab: 'overview' })
  })
})
