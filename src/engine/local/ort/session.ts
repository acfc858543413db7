import koffi from 'koffi'
import { check, type Handle, loadLibrary } from './library.js'
import { currentRuntime } from './runtime.js'
import type { Tensor } from './tensor.js'

/** A compiled graph. Inputs and outputs are given in the order of the model's own lists; outputs are written in place. */
export class Session {
  #handle: Handle
  readonly #inputNames: Names
  readonly #outputNames: Names
  readonly #inputs: BigUint64Array
  readonly #outputs: BigUint64Array

  constructor(
    readonly name: string,
    model: Uint8Array,
    inputNames: readonly string[],
    outputNames: readonly string[],
    threading: 'pooled' | 'single' = 'pooled',
  ) {
    const runtime = currentRuntime()
    const out: Handle[] = [0]
    const { api } = loadLibrary()
    check(
      api.CreateSessionFromArray(runtime.env, model, model.byteLength, runtime[threading], out),
      `compiling the ${name} graph`,
    )
    this.#handle = out[0]!
    this.#inputNames = new Names(inputNames)
    this.#outputNames = new Names(outputNames)
    this.#inputs = new BigUint64Array(new ArrayBuffer(64 + inputNames.length * 8), 0, inputNames.length)
    this.#outputs = new BigUint64Array(new ArrayBuffer(64 + outputNames.length * 8), 0, outputNames.length)
  }

  run(inputs: readonly Tensor[], outputs: readonly Tensor[]): void {
    for (let i = 0; i < this.#inputs.length; i++) this.#inputs[i] = BigInt(inputs[i]!.handle)
    for (let i = 0; i < this.#outputs.length; i++) this.#outputs[i] = BigInt(outputs[i]!.handle)
    const status = loadLibrary().api.Run(
      this.#handle,
      0,
      this.#inputNames.pointers,
      this.#inputs,
      this.#inputs.length,
      this.#outputNames.pointers,
      this.#outputs.length,
      this.#outputs,
    )
    if (status) check(status, `in the ${this.name} graph`)
  }

  /** The same on another thread, for sessions of one thread; several runs of one session may be under way. */
  async runAside(inputs: readonly Tensor[], outputs: readonly Tensor[]): Promise<void> {
    const pointers = (tensors: readonly Tensor[]) => {
      const out = new BigUint64Array(new ArrayBuffer(64 + tensors.length * 8), 0, tensors.length)
      tensors.forEach((tensor, i) => {
        out[i] = BigInt(tensor.handle)
      })
      return out
    }
    const [from, to] = [pointers(inputs), pointers(outputs)]
    const status = await new Promise<Handle>((resolve, reject) => {
      loadLibrary().api.Run.async(
        this.#handle,
        0,
        this.#inputNames.pointers,
        from,
        from.length,
        this.#outputNames.pointers,
        to.length,
        to,
        (error: unknown, result: Handle) => (error ? reject(error) : resolve(result)),
      )
    })
    if (status) check(status, `in the ${this.name} graph`)
  }

  release(): void {
    loadLibrary().api.ReleaseSession(this.#handle)
    this.#handle = 0
  }
}

/** An array of C strings; both the strings and the pointers stay referenced. */
class Names {
  readonly pointers: BigUint64Array
  readonly #bytes: Uint8Array

  constructor(names: readonly string[]) {
    const encoded = names.map((name) => Buffer.from(`${name}\0`, 'utf8'))
    const joined = Buffer.concat(encoded)
    this.#bytes = new Uint8Array(new ArrayBuffer(Math.max(64, joined.length)))
    this.#bytes.set(joined)
    this.pointers = new BigUint64Array(new ArrayBuffer(64 + names.length * 8), 0, names.length)
    let address = koffi.address(this.#bytes) as bigint
    encoded.forEach((name, i) => {
      this.pointers[i] = address
      address += BigInt(name.length)
    })
  }
}
