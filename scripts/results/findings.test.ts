import { describe, expect, it } from 'vitest'
import { besideInWords, changeInWords, judgeClaim } from './findings.js'
import type { Claim } from './plan.js'
import { result, row } from './synthetic.js'

const up = result(row('up'), [
  [50, 80],
  [52, 83],
  [48, 79],
])
const higher = result(
  row('higher'),
  [
    [50, 90],
    [52, 91],
    [48, 92],
  ],
  { seconds: 9 },
)
const down = result(row('down'), [
  [50, 20],
  [52, 21],
  [48, 19],
])
const uneven = result(row('uneven'), [
  [50, 13],
  [50, 41],
  [50, 24],
])
const flat = result(row('flat'), [
  [50, 52],
  [50, 47],
  [50, 51],
])
const lone = result(row('lone'), [[50, 80]])

describe('changeInWords', () => {
  it('tells gains from losses, and both from nothing', () => {
    expect(changeInWords(up.sampled)).toBe('gains 30.7 points (± 0.6)')
    expect(changeInWords(down.greedy)).toBe('loses 30.0 points (± 1.0)')
    expect(changeInWords(flat.sampled)).toBe(
      'shows no change beyond the spread of its seeds (0.0 ± 2.6 points)',
    )
  })

  it('does not hide that all seeds went one way', () => {
    expect(changeInWords(uneven.sampled)).toMatch(
      /^falls with every seed, by 9.0 to 37.0 points, .*too uneven/,
    )
  })

  it('claims nothing of one seed', () => {
    expect(changeInWords(lone.sampled)).toBe('rises by 30.0 points with its one seed')
    expect(changeInWords(result(row('still'), [[50, 50]]).greedy)).toBe('is the same with its one seed')
  })
})

describe('besideInWords', () => {
  it('says where a row ends', () => {
    expect(besideInWords(higher, up)).toBe('ends 10.3 points above the up')
    expect(besideInWords(down, up)).toBe('ends 60.7 points below the up')
    expect(besideInWords(flat, flat)).toMatch(/^shows no difference from the flat beyond the spread/)
    expect(besideInWords(lone, up)).toMatch(/with one seed$/)
  })
})

describe('judgeClaim', () => {
  const results = [up, higher, down, flat, lone]
  const verdict = (claim: Partial<Claim>) =>
    judgeClaim({ says: 'so', row: 'up', than: 'start', expect: 'above', ...claim }, results)?.verdict

  it('compares with the start', () => {
    expect(verdict({})).toBe('appears')
    expect(verdict({ row: 'flat' })).toBe('does not appear')
    expect(verdict({ row: 'down' })).toBe('the opposite appears')
    expect(verdict({ row: 'down', expect: 'below' })).toBe('appears')
    expect(verdict({ row: 'lone' })).toBe('cannot be told from one seed')
  })

  it('compares with another row', () => {
    expect(verdict({ row: 'higher', than: 'up' })).toBe('appears')
    expect(verdict({ row: 'up', than: 'higher' })).toBe('the opposite appears')
    expect(verdict({ row: 'up', than: 'up', expect: 'alike' })).toBe('appears')
    expect(verdict({ row: 'higher', than: 'up', expect: 'alike' })).toBe('does not appear')
  })

  it('asks for less time where the claim does', () => {
    expect(verdict({ row: 'higher', than: 'up', faster: true })).toBe('does not appear')
    expect(verdict({ row: 'up', than: 'down', faster: true })).toBe('does not appear')
    const quick = result(
      row('quick'),
      [
        [50, 90],
        [50, 91],
        [50, 92],
      ],
      { seconds: 0.5 },
    )
    const claim: Claim = { says: 'so', row: 'quick', than: 'up', expect: 'above', faster: true }
    const judged = judgeClaim(claim, [quick, up])
    expect(judged).toMatchObject({ verdict: 'appears', here: expect.stringContaining('1 s against 2 s') })
  })

  it('leaves out what was not played', () => {
    expect(verdict({ row: 'gone' })).toBeUndefined()
    expect(verdict({ than: 'gone' })).toBeUndefined()
  })
})
