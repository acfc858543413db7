import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Dialect, profiles } from './dialects.js'
import { type Batch, checkData, checkLoss, datumLoss } from './losses.js'
import { datum, policyDatum } from './support.js'

const at = (
  dialect: Dialect,
  lossFn: string,
  one: Batch['data'][number],
  logprobs: number[],
  config: Batch['config'] = {},
) => datumLoss(profiles[dialect].losses, { data: [one], lossFn, config }, one, Float32Array.from(logprobs))

describe('losses', () => {
  it.each([
    ['hosted', 'importance_sampling', {}],
    ['hosted', 'ppo', { clip_low_threshold: 0.7, clip_high_threshold: 1.5 }],
    ['hosted', 'dro', { beta: 0.3 }],
    ['skyrl', 'importance_sampling', {}],
    ['skyrl', 'ppo', {}],
    ['openrl', 'ppo', { clip_range: 0.3 }],
  ] as const)('%s %s: slopes are derivatives of the loss', (dialect, lossFn, config) => {
    const value = fc.double({ min: -3, max: -0.1, noNaN: true })
    fc.assert(
      fc.property(fc.array(value, { minLength: 3, maxLength: 3 }), (logprobs) => {
        const weights = dialect === 'hosted' ? {} : { weights: [0, 0.5, 2] }
        const one = policyDatum({ logprobs: [0, -1.5, -1], advantages: [0, 1.2, -0.7], ...weights })
        const { slopes } = at(dialect, lossFn, one, logprobs, config)
        for (let t = 0; t < 3; t++) {
          const step = 1e-3
          const lossAt = (shift: number) =>
            at(dialect, lossFn, one, logprobs.with(t, logprobs[t]! + shift), config).loss
          const [above, below] = [lossAt(step), lossAt(-step)]
          const ratio = Math.exp(logprobs[t]! - (one.inputs.logprobs!.data[t] ?? 0))
          fc.pre([0.7, 0.8, 1.2, 1.3, 1.5].every((bound) => Math.abs(ratio - bound) > 0.01))
          expect(slopes[t]).toBeCloseTo((above - below) / (2 * step), 2)
        }
      }),
      { seed: 1, numRuns: 60 },
    )
  })

  it('cispo holds its clipped ratio still: the slope is that of the log-probability alone', () => {
    const one = policyDatum({ logprobs: [0, -3, -1], advantages: [0, 1, 2] })
    const { slopes } = at('hosted', 'cispo', one, [-1, -1, -2])
    expect(Array.from(slopes)).toEqual([-0, -4, -2 * Math.fround(Math.exp(-1))].map(Math.fround))
  })

  it('cross entropy is a sum of weighted surprises, and signed weights are allowed', () => {
    const { loss, slopes } = at('hosted', 'cross_entropy', datum({ weights: [0, 2, -1] }), [-1, -2, -3])
    expect(loss).toBe(4 - 3)
    expect(Array.from(slopes)).toEqual([0, -2, 1])
  })

  it('SkyRL takes the mean over a sequence, the prompt included where no weights are given', () => {
    const weighted = policyDatum({ logprobs: [-1, -2, -3], advantages: [0, 1, 1], weights: [0, 1, 1] })
    expect(Array.from(at('skyrl', 'importance_sampling', weighted, [-1, -2, -3]).slopes)).toEqual([
      0, -0.5, -0.5,
    ])
    const bare = policyDatum({ logprobs: [-1, -2, -3], advantages: [0, 1, 1] })
    const { slopes } = at('skyrl', 'importance_sampling', bare, [-1, -2, -3])
    expect(slopes[1]).toBeCloseTo(-1 / 3, 6)
  })

  it('signed weights of cross entropy are broken on SkyRL: their sum divides', () => {
    const { slopes } = at('skyrl', 'cross_entropy', datum({ weights: [0, 1, -1] }), [-1, -1, -1])
    expect(Math.abs(slopes[1]!)).toBeGreaterThan(1e8)
  })

  it('Open-RL multiplies by weights and bounds the ratio', () => {
    const one = policyDatum({ logprobs: [0, -90, -1], advantages: [0, 1, 1], weights: [0, 1, 3] })
    const { elementwise, slopes } = at('openrl', 'importance_sampling', one, [0, -1, -1])
    expect(elementwise[1]).toBe(Math.fround(-Math.exp(20)))
    expect(slopes[2]).toBe(-3)
  })

  it.each([
    ['hosted', 'ppo', 0.75, 0],
    ['hosted', 'ppo', 0.85, 0.85],
    ['tuft', 'ppo', 0.85, 0],
    ['skyrl', 'cispo', 0.5, 0.8 / 3],
    ['hosted', 'cispo', 0.5, 0.5],
    ['tuft', 'cispo', 0.5, 0.9],
  ] as const)('%s %s has its own default bounds at ratio %d', (dialect, lossFn, ratio, slope) => {
    const logprobs = [0, -1, 0]
    const one = policyDatum({ logprobs: [0, -1 - Math.log(ratio), 0], advantages: [0, -1, 0] })
    expect(at(dialect, lossFn, one, logprobs).slopes[1]).toBeCloseTo(slope, 5)
  })
})

it('Open-RL passes over clip bounds of the others', () => {
  const batch = { data: [], lossFn: 'ppo', config: { clip_low_threshold: 0.1 } }
  expect(() => checkLoss(profiles.openrl.losses, batch)).not.toThrow()
  const one = policyDatum({ logprobs: [0, -1 - Math.log(0.5), 0], advantages: [0, -1, 0] })
  expect(at('openrl', 'ppo', one, [0, -1, 0], batch.config).slopes[1]).toBe(0)
})

describe('checks of the data', () => {
  const check = (dialect: Dialect, lossFn: string, data: Batch['data']) => () =>
    checkData(profiles[dialect].losses, { data, lossFn, config: {} })

  it('names what is wrong', () => {
    expect(check('hosted', 'ppo', [datum()])).toThrow("'weights'")
    const lacking = policyDatum()
    delete lacking.inputs.logprobs
    expect(check('hosted', 'ppo', [lacking])).toThrow("lacks 'logprobs'")
    const other = policyDatum({ weights: [0, 1, 1] })
    expect(check('tuft', 'ppo', [policyDatum(), other])).toThrow('same loss_fn_inputs')
    expect(check('tuft', 'ppo', [other])).not.toThrow()
    const weightless = datum()
    delete weightless.inputs.weights
    expect(check('hosted', 'cross_entropy', [weightless])).toThrow("lacks 'weights'")
    expect(check('skyrl', 'cross_entropy', [weightless])).not.toThrow()
  })
})
