import { DataError } from '../../../core/errors.js'
import { randomStream } from '../../../core/random.js'
import type { LoraSpec } from '../../engine.js'
import type { ModelConfig } from '../../hf/config.js'
import { modelParameters } from '../../hf/parameters.js'
import { ropeTables } from '../../hf/rope.js'
import type { TensorFile } from '../../hf/safetensors.js'
import { allocate, Tensor } from '../ort/tensor.js'
import { linearLayers } from './layer.js'

/** One weight matrix or vector, and what training keeps beside it. */
export class Parameter {
  readonly tensor: Tensor
  /** Present where the parameter is trained. */
  training?: { gradient: Tensor; mean: Float32Array; variance: Float32Array }

  constructor(
    readonly name: string,
    readonly shape: readonly number[],
    /** Whether weight decay applies: not to norms and biases. */
    readonly decay: boolean,
    readonly data: Float32Array,
  ) {
    this.tensor = new Tensor(data, shape)
  }

  prepareTraining(): void {
    this.training ??= {
      gradient: new Tensor(allocate(this.data.length), this.shape),
      mean: allocate(this.data.length),
      variance: allocate(this.data.length),
    }
  }

  copy(): Parameter {
    const data = allocate(this.data.length)
    data.set(this.data)
    return new Parameter(this.name, this.shape, this.decay, data)
  }

  get bytes(): number {
    return this.data.byteLength * (this.training ? 4 : 1)
  }

  release(): void {
    this.tensor.release()
    this.training?.gradient.release()
  }
}

export type Parameters = ReadonlyMap<string, Parameter>

/** Throws DataError where a weight is missing, of another shape or not a finite number. */
export async function readParameters(config: ModelConfig, file: TensorFile): Promise<Parameters> {
  const out = new Map<string, Parameter>()
  for (const { name, shape, decay } of modelParameters(config)) {
    const data = allocate(shape.reduce((a, b) => a * b, 1))
    await file.read(name, data)
    if (!allFinite(data)) {
      throw new DataError(`"${name}" in ${file.folder} holds weights that are not finite numbers.`, {
        hint: 'The file is damaged, or its training diverged: fetch it again, or take an earlier checkpoint.',
      })
    }
    out.set(name, new Parameter(name, shape, decay, data))
  }
  return out
}

/** In one pass without a test for each number: a product with 0 is NaN where a number is not finite, and stays so. */
function allFinite(data: Float32Array): boolean {
  let sum = 0
  for (let i = 0; i < data.length; i++) sum += 0 * data[i]!
  return sum === 0
}

/** A fresh adapter: A uniform in ±1/sqrt(inputs) (Kaiming with a = sqrt(5), as PEFT does), B zero. */
export function initialAdapter(config: ModelConfig, lora: LoraSpec, seed: number): Parameters {
  const out = new Map<string, Parameter>()
  const linears = linearLayers(config)
  for (let layer = 0; layer < config.layers; layer++)
    for (const target of lora.targets) {
      const { path, inputs, outputs } = linears.get(target)!
      const name = `model.layers.${layer}.${path}`
      const a = allocate(lora.rank * inputs)
      const random = randomStream(seed, 'lora', name)
      const bound = Math.sqrt(1 / inputs)
      for (let i = 0; i < a.length; i++) a[i] = (2 * random.uniform() - 1) * bound
      out.set(`${name}.lora_A.weight`, new Parameter(`${name}.lora_A.weight`, [lora.rank, inputs], true, a))
      const b = allocate(outputs * lora.rank)
      out.set(`${name}.lora_B.weight`, new Parameter(`${name}.lora_B.weight`, [outputs, lora.rank], true, b))
    }
  return out
}

/** Rotary tables up to a number of positions, grown when a longer sequence comes. */
export class RotaryCache {
  #tensors = new Map<string, Tensor>()
  #positions = 0

  constructor(private readonly config: ModelConfig) {}

  bindings(positions: number): ReadonlyMap<string, Tensor> {
    if (positions > this.#positions) {
      this.#positions = Math.max(256, 2 ** Math.ceil(Math.log2(positions)))
      const { cos, sin } = ropeTables(this.config, this.#positions)
      const shape = [this.#positions, this.config.headDim / 2]
      const tensor = (values: ArrayLike<number>, sign: number) => {
        const data = allocate(values.length)
        for (let i = 0; i < data.length; i++) data[i] = sign * values[i]!
        return new Tensor(data, shape)
      }
      for (const old of this.#tensors.values()) old.release()
      this.#tensors = new Map([
        ['cos', tensor(cos, 1)],
        ['sin', tensor(sin, 1)],
        ['negativeSin', tensor(sin, -1)],
      ])
    }
    return this.#tensors
  }
}
