import { describe, expect, it } from 'vitest'
import { type Material, writeDocument } from './document.js'
import { comparison, result, row } from './synthetic.js'

const rows = [row('first'), row('second', { set: ['settings.x=1'] }), row('third')]

function material(given: Partial<Material> = {}, budget?: number): Material {
  const options = budget === undefined ? {} : { budget }
  const results = [
    result(
      rows[0]!,
      [
        [50, 80],
        [52, 83],
        [48, 79],
      ],
      options,
    ),
    result(
      rows[1]!,
      [
        [50, 20],
        [52, 21],
        [48, 19],
      ],
      options,
    ),
  ]
  const claims = [
    { says: 'the first rises', row: 'first', than: 'start', expect: 'above' },
    { says: 'the second rises', row: 'second', than: 'start', expect: 'above' },
    { says: 'the third rises', row: 'third', than: 'start', expect: 'above' },
  ] as const
  return {
    comparisons: [{ comparison: comparison(rows, { claims, ...options }), results }],
    unspoiled: {},
    seeds: [0, 1, 2],
    machines: ['a machine'],
    absent: ['the third: the recipe third-tiny is not there'],
    ...given,
  }
}

const page = (given?: Partial<Material>, budget?: number) =>
  writeDocument(material(given, budget))['results.md']!

describe('writeDocument', () => {
  it('tells of every row that was played, in numbers and in words', () => {
    expect(page()).toContain('| the first | 50.0 [40.3, 59.7] | 80.7 [73.1, 88.2] | 30.7 ± 0.6 |')
    expect(page()).toContain('| 25.0 → 75.0 |')
    expect(page({}, 1000)).toContain('| 25.0 → 25.0 |')
    expect(page()).toContain('- **the second**: pass@1 loses 30.0 points (± 1.0);')
    expect(page()).toContain('| the second | `second-tiny`, `settings.x=1` | what second does | none |')
    expect(page()).not.toContain('what third does')
  })

  it('says what is not in it', () => {
    expect(page()).toContain('**Not in here**: the third: the recipe third-tiny is not there.')
    expect(page({ absent: [] })).not.toContain('Not in here')
  })

  it('counts a run once, whichever rows read it', () => {
    const [own] = material().comparisons
    const again = result(row('again', { runs: 'first' }), [[50, 80]])
    const comparisons = [{ ...own!, results: [...own!.results, again] }]
    expect(page()).toContain('in 6 runs with the seeds 0, 1, 2')
    expect(page({ comparisons })).toContain('in 6 runs with the seeds 0, 1, 2')
  })

  it('sorts effects by what became of them', () => {
    expect(page()).toContain('- **appears**: the first rises\n- **the opposite appears**: the second rises\n')
    expect(page()).not.toContain('the third rises')
  })

  it('draws a picture of every comparison and shows it', () => {
    const { 'results-made-up.svg': svg } = writeDocument(material())
    expect(svg).toContain('the first')
    expect(svg).not.toContain('the third')
    expect(page()).toContain('at the end in per cent: the first 80.7, the second 20.0](results-made-up.svg)')
  })

  it('reads at the budget, and marks what ended before it', () => {
    expect(page({}, 1000)).toContain('| the first | 50.0 [40.3, 59.7] | 65.3 ')
    expect(page({}, 1000)).toContain('| the first | 1 | 0 | 0 | 0.00 | 1.0 | 1 [1, 1] |')
    expect(page({}, 1000)).not.toContain('†')
    expect(page({}, 5000)).toContain('† ended before the budget did')
    expect(page({}, 5000)).toContain('| the first † | 50.0')
  })

  it('has no number that is none', () => {
    for (const budget of [undefined, 1, 1000, 5000]) {
      for (const text of Object.values(writeDocument(material({}, budget)))) {
        expect(text).not.toMatch(/NaN|Infinity|undefined|null/)
      }
    }
  })
})
