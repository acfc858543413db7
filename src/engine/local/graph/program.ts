import { InvariantError } from '../../../core/errors.js'
import { Session } from '../ort/session.js'
import { allocate, Tensor } from '../ort/tensor.js'
import type { Dim, Program, Shape } from './graph.js'
import { encodeModel } from './onnx.js'

/** Sizes of symbolic dimensions in one run. */
export type Sizes = Readonly<Record<string, number>>

/** A dimension is a number, a name, or a product such as `N*4`. */
export function sizeOf(dim: Dim, sizes: Sizes): number {
  if (typeof dim === 'number') return dim
  return dim.split('*').reduce((product, factor) => {
    const size = sizes[factor] ?? Number(factor)
    if (Number.isNaN(size)) throw new InvariantError(`The dimension ${dim} has no size in this run.`)
    return product * size
  }, 1)
}

export function shapeOf(shape: Shape, sizes: Sizes): number[] {
  return shape.map((dim) => sizeOf(dim, sizes))
}

export function elementsOf(shape: Shape, sizes: Sizes): number {
  return shape.reduce<number>((product, dim) => product * sizeOf(dim, sizes), 1)
}

/** Tensors by value name. */
export type Bindings = ReadonlyMap<string, Tensor>

/** A program compiled for the runtime. */
export class CompiledProgram {
  readonly #session: Session

  constructor(
    readonly program: Program,
    threading: 'pooled' | 'single' = 'pooled',
  ) {
    this.#session = new Session(
      program.name,
      encodeModel(program),
      program.inputs.map((value) => value.name),
      program.outputs.map((value) => value.name),
      threading,
    )
  }

  /** Runs on tensors named as the program's inputs and outputs; the first map that knows a name provides it. */
  run(...bindings: readonly Bindings[]): void {
    const { inputs, outputs } = this.#bind(bindings)
    this.#session.run(inputs, outputs)
  }

  /** The same on another thread; see `Session.runAside`. */
  runAside(...bindings: readonly Bindings[]): Promise<void> {
    const { inputs, outputs } = this.#bind(bindings)
    return this.#session.runAside(inputs, outputs)
  }

  #bind(bindings: readonly Bindings[]): { inputs: Tensor[]; outputs: Tensor[] } {
    const find = ({ name }: { name: string }): Tensor => {
      for (const map of bindings) {
        const tensor = map.get(name)
        if (tensor) return tensor
      }
      throw new InvariantError(`The ${this.program.name} graph was run without ${name}.`)
    }
    return { inputs: this.program.inputs.map(find), outputs: this.program.outputs.map(find) }
  }

  release(): void {
    this.#session.release()
  }
}

/**
 * Float memory handed out in slices and taken back all at once, so that a batch allocates nothing. Views made for a
 * batch are released with it.
 */
export class Workspace {
  readonly #blocks: Float32Array[] = []
  readonly #views: Tensor[] = []
  #block = 0
  #used = 0

  constructor(private readonly blockLength = 1 << 22) {}

  /** A float tensor with undefined contents. */
  tensor(shape: readonly number[]): Tensor {
    const length = shape.reduce((product, dim) => product * dim, 1)
    return this.view(this.#take(length), shape)
  }

  view(data: Tensor['data'], shape: readonly number[]): Tensor {
    const tensor = new Tensor(data, shape)
    this.#views.push(tensor)
    return tensor
  }

  #take(length: number): Float32Array {
    // Rows of 16 floats keep every tensor on a cache line of its own.
    const padded = Math.ceil(length / 16) * 16
    for (;;) {
      const block = this.#blocks[this.#block]
      if (!block) {
        this.#blocks.push(allocate(Math.max(this.blockLength, padded)))
        continue
      }
      if (this.#used + padded <= block.length) {
        const slice = block.subarray(this.#used, this.#used + length)
        this.#used += padded
        return slice
      }
      this.#block++
      this.#used = 0
    }
  }

  get bytes(): number {
    return this.#blocks.reduce((sum, block) => sum + block.byteLength, 0)
  }

  reset(): void {
    for (const view of this.#views) view.release()
    this.#views.length = 0
    this.#block = 0
    this.#used = 0
  }
}
