/** Sampling sessions, what each server samples in them, and the batches in which samples are made. */
import { randomInt } from 'node:crypto'
import type { SampledSequence, SampleResponse } from '../../src/tinker/wire.js'
import type { Checkpoint } from './checkpoints.js'
import type { Profile } from './dialects.js'
import { OperationError, operationError, Refusal } from './errors.js'
import type { Future } from './futures.js'
import type { Known } from './order.js'
import type { Body } from './requests.js'
import { weightsOf } from './training.js'
import type { Asked, Completion, Manner, Sampler } from './weights.js'
import type { Model, World } from './world.js'

export type Source =
  /** Weights of their own. */
  | { kind: 'frozen'; base: string; sampler: Promise<Sampler> }
  /** A snapshot that is written over the model's weights whenever another was there. */
  | { kind: 'slot'; base: string; model: Model; checkpoint: Checkpoint }
  /** The model as it is at the time. */
  | { kind: 'live'; base: string; model: Model }

export interface SamplingSession {
  id: string
  path: string | undefined
  source: Source
  /** Promises by number, where a retry is known by it. */
  known: Map<number, Known>
  /** Of a snapshot that nothing else refers to: closed with the session. */
  ephemeral: boolean
}

/** What a base model or a saved path is sampled from. Throws a Refusal where there is no such thing. */
export function sourceOf(
  world: World,
  {
    base_model: base,
    model_path: path,
  }: { base_model?: string | null | undefined; model_path?: string | null | undefined },
): Source {
  const { profile, models, backend, checkpoints } = world.around
  if ((base == null) === (path == null))
    throw new Refusal(400, 'Exactly one of base_model or model_path must be provided')
  if (base != null) {
    if (!(base in models))
      throw new Refusal(profile.dialect === 'hosted' ? 400 : 404, `Unknown model '${base}'`)
    if (profile.sampler === 'live')
      throw new Refusal(400, 'Sampling from the base model is not supported by this server')
    return { kind: 'frozen', base, sampler: frozen(world, base, () => backend.openBase(base)) }
  }
  const checkpoint = checkpoints.find(path!)
  if (!checkpoint) throw new Refusal(404, `Checkpoint not found: ${path}`)
  if (checkpoint.kind !== 'sampler_weights')
    throw new Refusal(400, `${path} holds training weights, not sampler weights`)
  if (profile.sampler === 'frozen') {
    const open = () => backend.openSaved(checkpoint.folder)
    return { kind: 'frozen', base: checkpoint.base, sampler: frozen(world, path!, open) }
  }
  const model = world.model(checkpoint.run)
  if (profile.sampler === 'live') return { kind: 'live', base: model.base, model }
  return { kind: 'slot', base: model.base, model, checkpoint }
}

/** Opened once for all sessions. */
function frozen(world: World, key: string, open: () => Promise<Sampler>): Promise<Sampler> {
  const sampler = world.frozen.get(key) ?? open()
  world.frozen.set(key, sampler)
  return sampler
}

/** A session of what a model is now. */
export async function snapshotSource(world: World, model: Model, checkpoint?: Checkpoint): Promise<Source> {
  const { base } = model
  if (world.around.profile.sampler === 'live') return { kind: 'live', base, model }
  if (checkpoint && world.around.profile.sampler === 'slot') return { kind: 'slot', base, model, checkpoint }
  return { kind: 'frozen', base, sampler: (await weightsOf(model)).snapshot() }
}

export function openSamplingSession(
  world: World,
  source: Source,
  of: { session: string; number: number },
  { path, ephemeral = false }: { path?: string | undefined; ephemeral?: boolean } = {},
): SamplingSession {
  const id = world.newId('sampling', of)
  const session: SamplingSession = { id, path, source, known: new Map(), ephemeral }
  world.samplers.set(id, session)
  if (ephemeral) forgetOldest(world)
  return session
}

function forgetOldest({ samplers, around }: World): void {
  const ephemeral = [...samplers.values()].filter((session) => session.ephemeral)
  for (const { id, source } of ephemeral.slice(0, Math.max(0, ephemeral.length - around.samplerLimit))) {
    samplers.delete(id)
    if (source.kind === 'frozen') void source.sampler.then((sampler) => sampler.close())
  }
}

/** How to sample as the request says and this server does. Throws a Refusal. */
export function mannerOf(
  world: World,
  { max_tokens, ...params }: Body<'asample'>['sampling_params'],
): Manner {
  const { dialect, stops, stopsAtEos } = world.around.profile
  if (dialect === 'skyrl' && max_tokens == null) throw new Refusal(400, 'max_tokens is currently required')
  if (max_tokens != null && max_tokens <= 0) throw new Refusal(400, 'max_tokens must be a positive number')
  const given = typeof params.stop === 'string' ? [params.stop] : (params.stop ?? [])
  const stopIds = given.filter((stop) => typeof stop === 'number')
  const stopStrings = given.filter((stop) => typeof stop === 'string')
  const open = stops === 'ignored'
  return {
    maxTokens: max_tokens ?? 16,
    temperature: params.temperature,
    topP: open ? 1 : params.top_p,
    topK: open ? 0 : Math.max(0, params.top_k),
    stopStrings: open ? [] : stopStrings,
    stopIds: open ? [] : stopIds,
    stopsAtEos,
  }
}

interface Order {
  body: Body<'asample'>
  manner: Manner
  source: Source
  future: Future
}

export class SampleQueue {
  #waiting: Order[] = []
  #timer: NodeJS.Timeout | undefined
  #open = 0

  constructor(private readonly world: World) {}

  /** Samples promised and not there yet. */
  get open(): number {
    return this.#open
  }

  add(order: Order): void {
    this.#open++
    this.#waiting.push(order)
    this.#timer ??= setTimeout(() => this.#flush(), this.world.around.gatherMs)
  }

  #flush(): void {
    this.#timer = undefined
    const orders = this.#waiting
    this.#waiting = []
    const { world } = this
    if (world.around.profile.sampler === 'slot') {
      void world.work(() => this.#batch(orders)).finally(() => this.#ended(orders))
      return
    }
    const groups = groupBy(orders, ({ source }) => (source.kind === 'frozen' ? source.sampler : source.model))
    for (const group of groups.values())
      void world.work(() => this.#run(group)).finally(() => this.#ended(group))
  }

  #ended(orders: Order[]): void {
    this.#open -= orders.length
  }

  /** All that waited, in one batch of the engine, as SkyRL does it. */
  async #batch(orders: Order[]): Promise<void> {
    const open = orders.filter(({ future }) => !future.outcome)
    const loaded = new Map<Model, string>()
    try {
      for (const { source } of open) {
        if (source.kind !== 'slot') continue
        const { model, checkpoint } = source
        const holds = loaded.get(model)
        if (holds !== undefined && holds !== checkpoint.name)
          throw new OperationError('Cannot override already used adapter')
        loaded.set(model, checkpoint.name)
        if (model.slotHolds !== checkpoint.name) {
          await (await weightsOf(model)).overwrite(checkpoint.folder)
          model.slotHolds = checkpoint.name
        }
      }
      await this.#run(open)
    } catch (error) {
      for (const { future } of open) this.world.futures.settle(future, { error: operationError(error) })
    }
  }

  async #run(orders: Order[]): Promise<void> {
    const open = orders.filter(({ future }) => !future.outcome)
    const key = ({ source, manner }: Order) =>
      JSON.stringify([source.kind === 'frozen' ? '' : source.model.id, manner])
    const groups = groupBy(open, key)
    await Promise.all([...groups.values()].map((group) => this.#group(group)))
  }

  /** Requests of one source and one manner. */
  async #group(orders: Order[]): Promise<void> {
    const { futures } = this.world
    const fail = (future: Future, error: unknown) => futures.settle(future, { error: operationError(error) })
    try {
      const { source, manner } = orders[0]!
      const { nothing, seeds, stops } = this.world.around.profile
      const sampler = source.kind === 'frozen' ? await source.sampler : await weightsOf(source.model)
      const { context, vocabulary } = await this.world.around.backend.shapeOf(source.base)
      const good: (Order & Asked)[] = []
      for (const order of orders) {
        const prompt = Int32Array.from(order.body.prompt.chunks.flatMap(({ tokens }) => tokens))
        const seed = order.body.sampling_params.seed ?? randomInt(2 ** 31)
        const n = order.body.num_samples
        const wrong = promptFault(prompt, context, vocabulary) ?? seedFault(seeds, seed, n)
        if (wrong) fail(order.future, new OperationError(wrong))
        else if (n > 0) good.push({ ...order, prompt, seed, n })
        else if (nothing === 'taken') futures.settle(order.future, { value: { sequences: [] } })
      }
      const late = stops === 'late' && manner.stopStrings.length > 0
      const asked = good.map(({ prompt, n, seed }) => ({ prompt, n, seed }))
      const settling: Promise<void>[] = []
      const sample = seeds === 'own' ? sampler.sample.bind(sampler) : inARow(sampler)
      await sample(asked, late ? { ...manner, stopStrings: [] } : manner, (i, completions) => {
        const { body, prompt, future } = good[i]!
        const sequences = completions.map((one) =>
          sequenceOf(late ? cutAtStop(one, manner.stopStrings, sampler) : one, stops === 'ignored'),
        )
        settling.push(
          this.#prompted(sampler, body, prompt, vocabulary).then(
            (scores) => futures.settle(future, { value: { sequences, ...scores } }),
            (error) => fail(future, error),
          ),
        )
      })
      await Promise.all(settling)
    } catch (error) {
      for (const { future } of orders) fail(future, error)
    }
  }

  /** Log-probabilities of the prompt's tokens, where they are asked for. */
  async #prompted(
    sampler: Sampler,
    { prompt_logprobs, topk_prompt_logprobs: k }: Body<'asample'>,
    prompt: Int32Array,
    vocabulary: number,
  ): Promise<Pick<SampleResponse, 'promptLogprobs' | 'topkPromptLogprobs'>> {
    if (!prompt_logprobs && k === 0) return {}
    const scored = { tokens: prompt.slice(0, -1), targets: prompt.slice(1) }
    const found = scored.tokens.length > 0 ? await sampler.logprobs([scored]) : [new Float32Array()]
    const { dialect, promptLogprobs: form } = this.world.around.profile
    const promptLogprobs = form === 'none first' ? found[0]! : Float32Array.of(Number.NaN, ...found[0]!)
    if (k === 0) return { promptLogprobs }
    if (dialect === 'skyrl') throw new OperationError('topk_prompt_logprobs is not supported by this backend')
    return { promptLogprobs, topkPromptLogprobs: await topk(sampler, scored.tokens, k, vocabulary) }
  }
}

function groupBy<T, K>(items: T[], key: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const group = groups.get(key(item))
    if (group) group.push(item)
    else groups.set(key(item), [item])
  }
  return groups
}

function promptFault(prompt: Int32Array, context: number, vocabulary: number): string | undefined {
  if (prompt.length === 0) return 'The prompt is empty.'
  if (prompt.length >= context)
    return `The prompt of ${prompt.length} tokens leaves no room in the context of ${context}.`
  const outside = prompt.find((token) => token < 0 || token >= vocabulary)
  return outside === undefined
    ? undefined
    : `The token ${outside} is outside the model's vocabulary of ${vocabulary}.`
}

function seedFault(seeds: Profile['seeds'], seed: number, n: number): string | undefined {
  if (seeds === 'own' || seed + n - 1 < 2 ** 31) return undefined
  return `The seed ${seed + n - 1} does not fit into 32 bits.`
}

/** Sample i of a request as the first of the seed `seed + i`. */
function inARow(sampler: Sampler): Sampler['sample'] {
  return (asked, manner, done) => {
    const single = asked.flatMap(({ prompt, seed, n }, request) =>
      Array.from({ length: n }, (_, index) => ({ prompt, seed: seed + index, n: 1, request, index })),
    )
    const found = asked.map(({ n }) => new Array<Completion | undefined>(n).fill(undefined))
    return sampler.sample(single, manner, (i, [completion]) => {
      const { request, index } = single[i]!
      found[request]![index] = completion
      if (!found[request]!.includes(undefined)) done(request, found[request] as Completion[])
    })
  }
}

function sequenceOf({ tokens, logprobs, stop }: Completion, alwaysStop: boolean): SampledSequence {
  return { tokens, logprobs, stopReason: alwaysStop ? 'stop' : stop }
}

/** Up to the token that completes the first stop string. */
function cutAtStop(completion: Completion, stops: string[], sampler: Sampler): Completion {
  const { tokens, logprobs } = completion
  for (let end = 1; end <= tokens.length; end++) {
    const text = sampler.decode(tokens.subarray(0, end))
    if (stops.some((stop) => text.includes(stop)))
      return { tokens: tokens.slice(0, end), logprobs: logprobs.slice(0, end), stop: 'stop' }
  }
  return completion
}

/** The k most probable tokens at each position, from a pass for every token of the vocabulary. */
async function topk(sampler: Sampler, tokens: Int32Array, k: number, vocabulary: number) {
  if (vocabulary > 1024) throw new OperationError('topk_prompt_logprobs needs a small vocabulary here')
  const rows =
    tokens.length === 0
      ? []
      : await sampler.logprobs(
          Array.from({ length: vocabulary }, (_, token) => ({
            tokens,
            targets: new Int32Array(tokens.length).fill(token),
          })),
        )
  const tokenIds = new Int32Array((tokens.length + 1) * k)
  const logprobs = new Float32Array((tokens.length + 1) * k).fill(-99999)
  for (let t = 0; t < tokens.length; t++) {
    const best = rows.map((row, token) => ({ token, logprob: row[t]! }))
    best.sort((a, b) => b.logprob - a.logprob)
    for (const [i, { token, logprob }] of best.slice(0, k).entries()) {
      tokenIds[(t + 1) * k + i] = token
      logprobs[(t + 1) * k + i] = logprob
    }
  }
  return { k, tokenIds, logprobs }
}
