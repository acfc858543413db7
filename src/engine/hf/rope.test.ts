import { describe, expect, it } from 'vitest'
import type { ModelConfig, RopeScaling } from './config.js'
import { ropeTables } from './rope.js'

function config(headDim: number, ropeTheta: number, ropeScaling?: RopeScaling): ModelConfig {
  return { headDim, ropeTheta, ropeScaling } as ModelConfig
}

const llama3: RopeScaling = {
  ...{ type: 'llama3', factor: 8, lowFreqFactor: 1, highFreqFactor: 4 },
  originalMaxPosition: 8192,
}

/** Computed with LlamaRotaryEmbedding of transformers 5.24: the first eight frequencies at one position. */
const references = [
  {
    name: 'plain',
    config: config(64, 1e4),
    position: 3000,
    cos: [-0.9756822, 0.95466107, -0.99993718, -0.56345057, 0.99698341, 0.15796226, 0.83264732, -0.47647095],
    sin: [
      0.21918997, 0.29769495, 0.011206891, 0.82614976, -0.077614672, 0.98744518, -0.55380362, -0.87919021,
    ],
  },
  {
    name: 'linear',
    config: config(16, 1e4, { type: 'linear', factor: 4 }),
    position: 1,
    cos: [0.96891242, 0.9968766, 0.99968749, 0.99996877, 0.9999969, 0.9999997, 1, 1],
    sin: [
      0.24740396, 0.078974612, 0.024997396, 0.0079056127, 0.0024999974, 0.00079056941, 0.00025000001,
      7.9056947e-5,
    ],
  },
  {
    name: 'linear, far',
    config: config(16, 1e4, { type: 'linear', factor: 4 }),
    position: 3000,
    cos: [-0.66698301, -0.019421982, 0.92175126, 0.1545184, 0.34663531, -0.71799123, 0.7316888, 0.97200656],
    sin: [0.74507296, -0.99981135, -0.38778165, -0.9879899, 0.93799996, 0.69605213, 0.68163878, 0.23495361],
  },
  {
    name: 'llama3',
    config: config(16, 5e5, llama3),
    position: 1,
    cos: [0.54030234, 0.98125583, 0.99929297, 0.99997342, 0.99999988, 1, 1, 1],
    sin: [
      0.84147096, 0.19270959, 0.037597168, 0.0072926003, 0.00052484602, 3.4281024e-5, 6.6478697e-6,
      1.2891732e-6,
    ],
  },
  {
    name: 'llama3, far',
    config: config(16, 5e5, llama3),
    position: 3000,
    cos: [-0.9756822, -0.83994818, 0.96126431, -0.9936049, -0.0037417761, 0.99471629, 0.99980116, 0.99999255],
    sin: [0.21918997, -0.54266661, -0.27562824, 0.11291272, 0.99999303, 0.10266188, 0.019942287, 0.00386751],
  },
]

describe('ropeTables', () => {
  it.each(references)('agrees with transformers: $name', ({ config, position, cos, sin }) => {
    const tables = ropeTables(config, position + 1)
    const at = (position * config.headDim) / 2
    for (let i = 0; i < 8; i++) {
      expect(Math.abs(tables.cos[at + i]! - cos[i]!)).toBeLessThan(1.2e-7)
      expect(Math.abs(tables.sin[at + i]! - sin[i]!)).toBeLessThan(1.2e-7)
    }
  })

  it('has a row for each position, the first of which turns nothing', () => {
    const { cos, sin } = ropeTables(config(6, 1e4), 5)
    expect(cos).toHaveLength(15)
    expect([...cos.subarray(0, 3), ...sin.subarray(0, 3)]).toEqual([1, 1, 1, 0, 0, 0])
    for (const [i, c] of cos.entries()) expect(c * c + sin[i]! ** 2).toBeCloseTo(1, 6)
  })
})
