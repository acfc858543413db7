/** Forward and backward passes of a model over batches of sequences. */
import type { Datum } from '../../../core/datum.js'
import type { Loss } from '../../engine.js'
import { emptySums, type LossSums, positionLoss, trainedPositions } from '../../losses.js'
import type { Shape } from '../graph/graph.js'
import { type Bindings, elementsOf, type Sizes, shapeOf, sizeOf, Workspace } from '../graph/program.js'
import type { Model } from '../model/model.js'
import { type Differentiated, gradientIn, gradientOut } from '../model/training.js'
import { allocate, allocateLongs, Tensor } from '../ort/tensor.js'
import { causalMask, type Packed, pack, planMicroBatches } from './pack.js'

export interface TrainingPrograms {
  /** Keeps what the backward pass reads, or recomputes it from the layer's input. */
  layer: (recompute: boolean) => Differentiated
  head: Differentiated
}

export interface TrainerOptions {
  /** Tokens of one micro-batch; a longer sequence is a micro-batch of its own. */
  tokenBudget: number
  /** Floats of one chunk of logits. */
  logitsBudget: number
  /** Bytes that may be kept between forward and backward; above that, layers are recomputed. */
  activationBytes: number
}

/** Buffers that trainers of one engine share: they take turns. */
export class TrainingMemory {
  readonly layers = new Workspace()
  readonly head = new Workspace(1 << 20)

  get bytes(): number {
    return this.layers.bytes + this.head.bytes
  }
}

/** Bytes of everything kept between forward and backward of all layers. */
export function keptBytes(layer: Differentiated, layers: number, sizes: Sizes): number {
  const floats = layer.kept.reduce(
    (sum, value) => sum + elementsOf(value.shape, sizes),
    elementsOf(layer.output.shape, sizes),
  )
  return 4 * layers * floats
}

/** A sequence with the positions whose log-probability is asked for. */
interface Scored {
  sequence: Pick<Datum, 'tokens' | 'targets'>
  positions: number[]
}

export class Trainer {
  readonly #masks = new Map<number, Tensor>()
  #ones = allocate(4096).fill(1)

  constructor(
    private readonly model: Model,
    private readonly programs: TrainingPrograms,
    private readonly options: TrainerOptions,
    private readonly memory: TrainingMemory,
  ) {}

  forwardBackward(data: readonly Datum[], loss: Loss): { sums: LossSums; logprobs: Float32Array[] } {
    this.model.prepareTraining()
    const sums = emptySums()
    const temperature = loss.name === 'cross_entropy' ? 1 : loss.temperature
    const scored = data.map((datum) => ({ sequence: datum, positions: trainedPositions(datum, loss) }))
    const logprobs = this.#run(scored, temperature, (i, t, logprob) =>
      positionLoss(data[i]!, t, logprob, loss, sums),
    )
    return { sums, logprobs }
  }

  /** Log-probability of every target at the temperature. */
  logprobs(sequences: readonly Pick<Datum, 'tokens' | 'targets'>[], temperature = 1): Float32Array[] {
    const scored = sequences.map((sequence) => ({
      sequence,
      positions: Array.from(sequence.tokens, (_, t) => t),
    }))
    return this.#run(scored, temperature)
  }

  /** With `slope` (dLoss / dlogprob of a position) gradients are added to the model's. */
  #run(
    scored: readonly Scored[],
    temperature: number,
    slope?: (datum: number, position: number, logprob: number) => number,
  ): Float32Array[] {
    const out = scored.map(({ sequence }) => new Float32Array(sequence.tokens.length).fill(Number.NaN))
    const active = scored.map((_, i) => i).filter((i) => scored[i]!.positions.length > 0)
    // Nothing behind the last scored position can matter to a causal model.
    const cut = active.map((i) => scored[i]!.sequence.tokens.subarray(0, scored[i]!.positions.at(-1)! + 1))
    const lengths = cut.map((tokens) => tokens.length)
    for (const batch of planMicroBatches(lengths, this.options.tokenBudget)) {
      const { heads, kvHeads } = this.model.config
      const packed = pack(
        batch.map((j) => ({ tokens: cut[j]! })),
        heads,
        kvHeads,
      )
      const rows = batch.flatMap((j, b) =>
        scored[active[j]!]!.positions.map((t) => ({ datum: active[j]!, t, row: packed.starts[b]! + t })),
      )
      const targets = rows.map(({ datum, t }) => scored[datum]!.sequence.targets[t]!)
      this.#microBatch(
        packed,
        rows.map((r) => r.row),
        targets,
        temperature,
        (k, logprob) => {
          const { datum, t } = rows[k]!
          out[datum]![t] = logprob
          return slope?.(datum, t, logprob)
        },
        slope !== undefined,
      )
    }
    return out
  }

  #microBatch(
    packed: Packed,
    rows: number[],
    targets: number[],
    temperature: number,
    visit: (k: number, logprob: number) => number | undefined,
    backward: boolean,
  ): void {
    const { config } = this.model
    const workspace = this.memory.layers
    workspace.reset()
    const sizes = { N: packed.tokens, B: packed.sequences, S: packed.longest }
    const keeping = this.programs.layer(false)
    const fits = !backward || keptBytes(keeping, config.layers, sizes) <= this.options.activationBytes
    const layer = fits ? keeping : this.programs.layer(true)
    const common = this.#commonBindings(packed, sizes, layer)
    const hidden = [packed.tokens, config.hiddenSize]

    let x = workspace.tensor(hidden)
    this.#embed(packed.ids, x.data as Float32Array)
    const kept: Map<string, Tensor>[] = []
    const spare = workspace.tensor(hidden)
    let scratch = spare
    for (let l = 0; l < config.layers; l++) {
      const y = backward ? workspace.tensor(hidden) : scratch
      const bindings = new Map([
        ['x', x],
        ['y', y],
      ])
      if (backward)
        for (const value of layer.kept)
          bindings.set(value.name, workspace.tensor(shapeOf(value.shape, sizes)))
      const program = backward ? layer.forward : layer.inference
      program.run(bindings, common, this.model.layer(l))
      kept.push(bindings)
      if (!backward) scratch = x
      x = y
    }

    let dy = spare
    if (backward) (dy.data as Float32Array).fill(0)
    this.#head(x, rows, targets, temperature, visit, backward ? dy : undefined)
    if (!backward) return

    let dx = workspace.tensor(hidden)
    for (let l = config.layers - 1; l >= 0; l--) {
      const bindings = new Map([
        ['dy', dy],
        ['dx', dx],
      ])
      layer.backward.run(bindings, kept[l]!, common, this.model.layer(l), this.model.layerGradients(l))
      ;[dy, dx] = [dx, dy]
    }
    this.#embedBackward(packed.ids, dy.data as Float32Array)
  }

  /** Log-probabilities of the rows' targets, chunk by chunk so that logits of a large vocabulary never stand all at once. */
  #head(
    x: Tensor,
    rows: number[],
    targets: number[],
    temperature: number,
    visit: (k: number, logprob: number) => number | undefined,
    dx: Tensor | undefined,
  ): void {
    const { head } = this.programs
    const { config } = this.model
    const d = config.hiddenSize
    const chunk = Math.max(16, Math.floor(this.options.logitsBudget / config.vocabSize))
    const weights = this.#headBindings()
    for (let from = 0; from < rows.length; from += chunk) {
      const count = Math.min(chunk, rows.length - from)
      const sizes = { M: count }
      const workspace = this.memory.head
      workspace.reset()
      const input = workspace.tensor([count, d])
      const target = allocateLongs(count)
      for (let k = 0; k < count; k++) {
        copyRow(x.data as Float32Array, rows[from + k]!, input.data as Float32Array, k, d)
        target[k] = BigInt(targets[from + k]!)
      }
      const y = workspace.tensor([count, 1])
      const bindings = new Map([
        ['x', input],
        ['y', y],
        ['target', workspace.view(target, [count, 1])],
        ['inverseTemperature', workspace.view(allocate(1).fill(1 / temperature), [])],
      ])
      if (dx)
        for (const value of head.kept) bindings.set(value.name, workspace.tensor(shapeOf(value.shape, sizes)))
      const program = dx ? head.forward : head.inference
      program.run(bindings, weights)

      const dy = workspace.tensor([count, 1])
      const slopes = dy.data as Float32Array
      for (let k = 0; k < count; k++) slopes[k] = visit(from + k, (y.data as Float32Array)[k]!) ?? 0
      if (!dx) continue
      bindings.set('dy', dy).set('dx', workspace.tensor([count, d]))
      head.backward.run(bindings, this.#onesBindings(head.backward.program.inputs, sizes), weights)
      const gradient = bindings.get('dx')!.data as Float32Array
      for (let k = 0; k < count; k++) copyRow(gradient, k, dx.data as Float32Array, rows[from + k]!, d)
    }
  }

  #headBindings(): Map<string, Tensor> {
    const { norm, head } = this.model
    const out = new Map([
      ['model.norm.weight', norm.tensor],
      ['lm_head.weight', head.tensor],
    ])
    for (const [name, parameter] of [
      ['model.norm.weight', norm],
      ['lm_head.weight', head],
    ] as const)
      if (parameter.training) {
        out.set(gradientIn(name), parameter.training.gradient)
        out.set(gradientOut(name), parameter.training.gradient)
      }
    return out
  }

  #commonBindings(packed: Packed, sizes: Sizes, layer: Differentiated): Bindings {
    const { heads, kvHeads } = this.model.config
    const group = heads / kvHeads
    const workspace = this.memory.layers
    const { N, B, S } = sizes as { N: number; B: number; S: number }
    return new Map([
      ...this.#onesBindings(layer.backward.program.inputs, sizes),
      ...this.model.rotary.bindings(S),
      ['positions', workspace.view(packed.positions, [N, 1])],
      ['padQuery', workspace.view(packed.padQuery, [B, kvHeads, group * S])],
      ['packQuery', workspace.view(packed.packQuery, [N * heads])],
      ['padKey', workspace.view(packed.padKey, [B, kvHeads, S])],
      ['packKey', workspace.view(packed.packKey, [N * kvHeads])],
      ['real', workspace.view(packed.real, [B, kvHeads, group * S, 1])],
      ['mask', this.#mask(group, S)],
    ])
  }

  #mask(group: number, longest: number): Tensor {
    const shape = [group * longest, longest]
    // Masks of long sequences are large, and few sequences share one.
    if (longest > 512) return this.memory.layers.view(causalMask(group, longest), shape)
    const mask = this.#masks.get(longest) ?? new Tensor(causalMask(group, longest), shape)
    this.#masks.set(longest, mask)
    return mask
  }

  #onesBindings(inputs: readonly { name: string; shape: Shape }[], sizes: Sizes): Map<string, Tensor> {
    const out = new Map<string, Tensor>()
    for (const { name, shape } of inputs) {
      if (!name.startsWith('ones_')) continue
      const length = elementsOf(shape, sizes)
      if (length > this.#ones.length) this.#ones = allocate(length * 2).fill(1)
      out.set(name, this.memory.layers.view(this.#ones.subarray(0, length), [1, sizeOf(shape[1]!, sizes)]))
    }
    return out
  }

  #embed(ids: Int32Array, out: Float32Array): void {
    const { data } = this.model.embedding
    const d = this.model.config.hiddenSize
    for (let row = 0; row < ids.length; row++) copyRow(data, ids[row]!, out, row, d)
  }

  /** Adds rows of the cotangent to the embedding's gradient. On the host: the kernels that scatter with addition race. */
  #embedBackward(ids: Int32Array, dx: Float32Array): void {
    const gradient = this.model.embedding.training?.gradient.data as Float32Array | undefined
    if (!gradient) return
    const d = this.model.config.hiddenSize
    for (let row = 0; row < ids.length; row++) {
      const to = ids[row]! * d
      const from = row * d
      for (let j = 0; j < d; j++) gradient[to + j]! += dx[from + j]!
    }
  }
}

function copyRow(from: Float32Array, fromRow: number, to: Float32Array, toRow: number, width: number): void {
  to.set(from.subarray(fromRow * width, (fromRow + 1) * width), toRow * width)
}
