import type { ModelConfig } from './config.js'

const f32 = Math.fround

/**
 * Cosine and sine of the rotary angles position * frequency, each [positions, headDim / 2] row by row, for positions
 * 0 .. positions-1. Every step is rounded to float32 where transformers rounds, since at large positions the rounding
 * of a frequency shows in the angle.
 */
export function ropeTables(config: ModelConfig, positions: number): { cos: Float32Array; sin: Float32Array } {
  const frequencies = inverseFrequencies(config)
  const half = frequencies.length
  const cos = new Float32Array(positions * half)
  const sin = new Float32Array(positions * half)
  for (let position = 0, at = 0; position < positions; position++) {
    for (let i = 0; i < half; i++, at++) {
      const angle = f32(position * frequencies[i]!)
      cos[at] = Math.cos(angle)
      sin[at] = Math.sin(angle)
    }
  }
  return { cos, sin }
}

/** theta^(-2i / headDim), scaled as the configuration says. Shape [headDim / 2]. */
function inverseFrequencies({ headDim, ropeTheta, ropeScaling }: ModelConfig): Float32Array {
  const frequencies = Float32Array.from({ length: headDim / 2 }, (_, i) =>
    f32(1 / f32(ropeTheta ** f32((2 * i) / headDim))),
  )
  if (ropeScaling?.type === 'linear') return frequencies.map((frequency) => frequency / ropeScaling.factor)
  if (ropeScaling?.type === 'llama3')
    return frequencies.map((frequency) => scaleLlama3(frequency, ropeScaling))
  return frequencies
}

/** Llama 3.1: long wavelengths are stretched by the factor, short ones kept, those between blended. */
function scaleLlama3(
  frequency: number,
  {
    factor,
    lowFreqFactor,
    highFreqFactor,
    originalMaxPosition,
  }: ModelConfig['ropeScaling'] & { type: 'llama3' },
): number {
  const wavelength = f32((2 * Math.PI) / frequency)
  if (wavelength < originalMaxPosition / highFreqFactor) return frequency
  if (wavelength > originalMaxPosition / lowFreqFactor) return f32(frequency / factor)
  const smooth = f32(
    f32(f32(originalMaxPosition / wavelength) - lowFreqFactor) / (highFreqFactor - lowFreqFactor),
  )
  return f32(f32(f32(f32(1 - smooth) * frequency) / factor) + f32(smooth * frequency))
}
