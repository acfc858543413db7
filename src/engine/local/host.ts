/** The engine's side of the thread: models, their programs and what is done with them. One request at a time. */
import { existsSync } from 'node:fs'
import type { Datum } from '../../core/datum.js'
import { ConfigError, DataError, EngineError, InvariantError } from '../../core/errors.js'
import type {
  AdamParams,
  LoraSpec,
  Loss,
  LossReport,
  MemoryPlan,
  OptimReport,
  PolicySpec,
  SampleParams,
  SampleRequest,
} from '../engine.js'
import { type ModelConfig, readModelConfig } from '../hf/config.js'
import { loraTargets } from '../hf/lora.js'
import { checkParameters } from '../hf/parameters.js'
import { openSafetensors } from '../hf/safetensors.js'
import { loadTokenizer } from '../hf/tokenizer.js'
import { lossReport } from '../losses.js'
import { SharedBases } from './bases.js'
import { decodingProgram } from './model/decoding.js'
import { Model } from './model/model.js'
import { type Differentiated, trainingHead, trainingLayer } from './model/training.js'
import { initialAdapter, type Parameters, readParameters } from './model/weights.js'
import { currentRuntime } from './ort/runtime.js'
import { type Load, planMemory } from './plan.js'
import { type DecodingPrograms, type SampledTokens, sampleCompletions } from './sample/sampler.js'
import { loadPolicy, loadWeights, resolveFolder, type SavedPolicy, sameSpec, savePolicy } from './store.js'
import { adamStep } from './train/adam.js'
import { Trainer, TrainingMemory } from './train/trainer.js'

export interface HostOptions {
  /** Tokens of a training micro-batch. */
  tokenBudget: number
  /** Most completions sampled at once. */
  maxRows: number
  /** Bytes that key-value caches may take. */
  cacheBytes: number
  /** Bytes kept between forward and backward before layers are recomputed instead. */
  activationBytes: number
  /** Numbers in one chunk of logits. */
  logitsBudget: number
}

interface Seat {
  model: Model
  /** Folder that the configuration and the tokenizer come from. */
  folder: string
  trainer: Trainer
  version: number
  /** Optimizer steps since the moments were zero: Adam's bias correction counts these. */
  steps: number
  eosIds: ReadonlySet<number>
  decode: (tokens: number[]) => string
}

export interface OpenedPolicy {
  handle: number
  folder: string
  version: number
}

/** Weights of layers up to this size stay in the processor's cache, where lanes can read them at the same time. */
const sharedCacheBytes = 32e6

export class Host {
  readonly #seats = new Map<number, Seat>()
  readonly #programs = new Map<
    string,
    { layers: Map<boolean, Differentiated>; head?: Differentiated; decoding?: DecodingPrograms }
  >()
  readonly #bases = new SharedBases()
  readonly #memory = new TrainingMemory()
  #handles = 0

  constructor(private readonly options: HostOptions) {}

  async open(spec: PolicySpec): Promise<OpenedPolicy> {
    const saved = await resolveFolder(spec.model)
    const lora = saved.adapter?.spec ?? spec.lora
    if (saved.adapter && spec.lora && !sameSpec(saved.adapter.spec, spec.lora))
      throw new ConfigError(
        `The adapter ${spec.model} has another rank, alpha or other targets than asked for.`,
        {
          hint: 'Leave lora out of the role, or set it to what adapter_config.json says.',
        },
      )
    if (lora) checkLora(lora)
    if (saved.adapter && !existsSync(saved.folder))
      throw new DataError(
        `The adapter ${spec.model} stands on the model ${saved.folder}, which is not there.`,
        {
          hint: 'Put the model folder in its place, or correct base_model_name_or_path in adapter_config.json.',
        },
      )
    const config = await readModelConfig(saved.folder)
    const tokenizer = await loadTokenizer(saved.folder, config)
    const base = lora
      ? await this.#bases.use(saved.folder, () => readBase(saved.folder, config))
      : await readBase(saved.folder, config)
    const model = new Model(
      config,
      base,
      lora && { spec: lora, adapter: initialAdapter(config, lora, spec.seed) },
    )
    const seat = this.#seat(model, {
      folder: saved.folder,
      version: 0,
      steps: 0,
      eosIds: new Set(tokenizer.eosIds),
      decode: (tokens) => tokenizer.decode(tokens, { special: true }),
    })
    if (saved.adapter) await loadWeights(saved, model)
    return seat
  }

  async *sample(
    handle: number,
    requests: SampleRequest[],
    params: SampleParams,
    breathe: () => Promise<void>,
  ): AsyncGenerator<SampledTokens & { version: number }> {
    const seat = this.#get(handle)
    const { model, version } = seat
    if (requests.some(({ prompt }) => prompt.length === 0)) throw new InvariantError('A prompt is empty.')
    if (!(params.maxTokens >= 1))
      throw new InvariantError('A completion needs room for a token: maxTokens is below 1.')
    for (const { prompt } of requests) checkTokens(prompt, model.config)
    const programs = this.#programsOf(model)
    const compile = (threading: 'pooled' | 'single') =>
      decodingProgram(model.config, model.lora?.spec, threading)
    programs.decoding ??= { pooled: compile('pooled'), single: compile('single') }
    const { maxRows, cacheBytes } = this.options
    const lanes = model.layerBytes <= sharedCacheBytes ? currentRuntime().threads : 1
    const options = { maxRows, cacheBytes, lanes, eosIds: seat.eosIds, decode: seat.decode }
    for await (const sampled of sampleCompletions(
      model,
      programs.decoding,
      requests,
      params,
      options,
      breathe,
    ))
      yield { ...sampled, version }
  }

  logprobs(handle: number, sequences: Pick<Datum, 'tokens' | 'targets'>[]): Float32Array[] {
    const { trainer, model } = this.#get(handle)
    for (const { tokens, targets } of sequences) {
      checkTokens(tokens, model.config)
      checkTokens(targets, model.config)
    }
    return trainer.logprobs(sequences)
  }

  forwardBackward(handle: number, data: Datum[], loss: Loss): LossReport {
    const { trainer, model } = this.#get(handle)
    for (const { tokens, targets } of data) {
      checkTokens(tokens, model.config)
      checkTokens(targets, model.config)
    }
    const { sums, logprobs } = trainer.forwardBackward(data, loss)
    return lossReport(loss, sums, logprobs)
  }

  optimStep(handle: number, adam: AdamParams): OptimReport {
    const seat = this.#get(handle)
    seat.model.prepareTraining()
    const report = adamStep(seat.model.trained, adam, seat.steps + 1)
    seat.steps++
    seat.version++
    return { ...report, version: seat.version }
  }

  gradients(handle: number): Map<string, Float32Array> {
    const out = new Map<string, Float32Array>()
    for (const { name, training } of this.#get(handle).model.trained.values())
      if (training) out.set(name, Float32Array.from(training.gradient.data as Float32Array))
    return out
  }

  snapshot(handle: number): OpenedPolicy {
    const seat = this.#get(handle)
    return this.#seat(seat.model.snapshot(), seat)
  }

  async save(handle: number, folder: string, optimizer: boolean): Promise<void> {
    const { model, steps, version, folder: source } = this.#get(handle)
    await savePolicy(folder, source, model, optimizer ? { steps, version } : { version })
  }

  async load(handle: number, folder: string): Promise<number> {
    const seat = this.#get(handle)
    await this.#restore(seat, await resolveFolder(folder))
    return seat.version
  }

  release(handle: number): void {
    const seat = this.#seats.get(handle)
    if (!seat) return
    this.#seats.delete(handle)
    seat.model.release()
    const { base, lora } = seat.model
    if (lora && ![...this.#seats.values()].some((other) => other.model.base === base)) this.#bases.drop(base)
  }

  plan(load: Load): MemoryPlan {
    const models = [...this.#seats.values()].map(({ model }) => model)
    return planMemory(models, (model, recompute) => this.#layerOf(model, recompute), load, this.options)
  }

  async #restore(seat: Seat, saved: SavedPolicy): Promise<void> {
    const state = await loadPolicy(saved, seat.model)
    seat.version = state.version
    seat.steps = state.steps
  }

  #seat(model: Model, rest: Omit<Seat, 'model' | 'trainer'>): OpenedPolicy {
    const handle = ++this.#handles
    const programs = this.#programsOf(model)
    const lora = model.lora?.spec
    const trainer = new Trainer(
      model,
      {
        layer: (recompute) => this.#layerOf(model, recompute),
        get head() {
          programs.head ??= trainingHead(model.config, lora)
          return programs.head
        },
      },
      this.options,
      this.#memory,
    )
    this.#seats.set(handle, { ...rest, model, trainer })
    return { handle, folder: rest.folder, version: rest.version }
  }

  #layerOf(model: Model, recompute: boolean): Differentiated {
    const { layers } = this.#programsOf(model)
    const known = layers.get(recompute) ?? trainingLayer(model.config, model.lora?.spec, recompute)
    layers.set(recompute, known)
    return known
  }

  /** Models of one shape share their compiled programs, whatever their weights. */
  #programsOf(model: Model) {
    const { raw: _, eosIds: __, ...shape } = model.config
    const key = JSON.stringify([shape, model.lora?.spec])
    const known = this.#programs.get(key) ?? { layers: new Map<boolean, Differentiated>() }
    this.#programs.set(key, known)
    return known
  }

  #get(handle: number): Seat {
    const seat = this.#seats.get(handle)
    if (!seat) throw new EngineError('The policy was closed.')
    return seat
  }
}

async function readBase(folder: string, config: ModelConfig): Promise<Parameters> {
  const file = await openSafetensors(folder)
  try {
    checkParameters(config, file)
    return await readParameters(config, file)
  } finally {
    await file.close()
  }
}

function checkTokens(tokens: Int32Array, { vocabSize }: ModelConfig): void {
  const outside = tokens.find((token) => !(token >= 0 && token < vocabSize))
  if (outside !== undefined)
    throw new InvariantError(`The token ${outside} is outside the model's vocabulary of ${vocabSize}.`)
}

function checkLora(lora: LoraSpec): void {
  const unknown = lora.targets.find((target) => !loraTargets.includes(target))
  if (unknown !== undefined)
    throw new ConfigError(`The LoRA target "${unknown}" is not a linear layer of the model.`, {
      hint: `Choose from ${loraTargets.join(', ')}.`,
    })
  if (lora.targets.length === 0 || !(lora.rank >= 1))
    throw new ConfigError('A LoRA adapter needs a rank of at least 1 and at least one target layer.')
}
