/**
 * Sampling with continuous batching: rows of a batch hold completions in progress; a row that ends leaves at once and
 * the next completion takes its place. A prompt is read once for all its completions.
 */
import { randomStream } from '../../../core/random.js'
import type { RawLogprobs, Rollout, StopReason } from '../../../core/rollout.js'
import type { SampleParams, SampleRequest } from '../../engine.js'
import type { CompiledProgram } from '../graph/program.js'
import type { Model } from '../model/model.js'
import { bytesPerToken, Cache } from './cache.js'
import { chooseToken, samplingEntropy } from './choose.js'
import { Decoder, type Next } from './decoder.js'
import { Lane, type Row } from './lane.js'

/** A finished completion, before its text is decoded. */
export type SampledTokens = Omit<Rollout, 'text' | 'version'>

/** The decoding program twice: with all threads for one batch, and with one thread, to run side by side. */
export interface DecodingPrograms {
  pooled: CompiledProgram
  single: CompiledProgram
}

export interface SamplerOptions {
  maxRows: number
  /** Batches that step side by side, where there are rows enough for them. */
  lanes: number
  /** Bytes that key-value caches may take; fewer rows run at once where they would need more. */
  cacheBytes: number
  eosIds: ReadonlySet<number>
  /** Decodes the end of a completion, to look for stop strings. */
  decode: (tokens: number[]) => string
}

/** Prompt tokens read ahead of the batch, so that short prompts are read together. */
const readAheadTokens = 4096

/** Rows below which a lane is not worth a thread of its own. */
const leastLane = 8

/** A completion that waits for a row. */
interface Waiting {
  request: number
  index: number
}

/** A prompt that was read: its keys and values, and what comes next. */
interface Prefix {
  cache: Cache
  row: number
  next: Next
  /** Completions that have still to start from here. */
  remaining: number
}

export async function* sampleCompletions(
  model: Model,
  programs: DecodingPrograms,
  requests: readonly SampleRequest[],
  params: SampleParams,
  options: SamplerOptions,
  breathe: () => Promise<void>,
): AsyncGenerator<SampledTokens> {
  const { vocabSize } = model.config
  const queue: Waiting[] = requests.flatMap(({ n }, request) =>
    Array.from({ length: n }, (_, index) => ({ request, index })),
  )
  if (queue.length === 0) return
  const capacity = Math.max(...requests.map(({ prompt }) => prompt.length)) + params.maxTokens
  const affordable = Math.floor(options.cacheBytes / (capacity * bytesPerToken(model.config)))
  const rowLimit = Math.max(1, Math.min(options.maxRows, affordable, queue.length))
  // Tables that all lanes read must not grow while one of them runs.
  model.rotary.bindings(capacity)
  const count = rowLimit >= options.lanes * leastLane ? options.lanes : 1
  const lanes = Array.from({ length: count }, () => {
    const program = count > 1 ? programs.single : programs.pooled
    return new Lane(model, program, Math.ceil(rowLimit / count), capacity, params.temperature)
  })
  const prefixes = new Map<number, Prefix>()
  let queued = 0

  /** Draws a row's next token and says whether the completion has ended. */
  const advance = (row: Row, next: Next, place: number): StopReason | undefined => {
    const token = chooseToken(next.probabilities, place, vocabSize, params, row.random.uniform())
    row.tokens.push(token)
    row.logprobs.push(next.logprobs[place * vocabSize + token]!)
    row.entropies.push(next.entropies[place]!)
    row.samplingEntropies?.push(samplingEntropy(next.probabilities, place, vocabSize, params))
    if (options.eosIds.has(token)) return 'eos'
    if (params.stopIds?.includes(token)) return 'stop'
    if (params.stop.length > 0 && endsWithStop(row.tokens, params.stop, options.decode)) return 'stop'
    return row.tokens.length >= params.maxTokens ? 'length' : undefined
  }

  /** Gives free rows to waiting completions; those that end with their first token are returned. */
  const admit = (): SampledTokens[] => {
    const ended: SampledTokens[] = []
    while (queued < queue.length) {
      const lane = lanes.reduce((least, other) => (other.rows.length < least.rows.length ? other : least))
      if (lane.rows.length === lane.limit) break
      const { request, index } = queue[queued]!
      if (!prefixes.has(request))
        readPrompts(model, programs.pooled, requests, queue, queued, params, prefixes)
      queued++
      const prefix = prefixes.get(request)!
      const { prompt, seed } = requests[request]!
      const row: Row = {
        request,
        index,
        random: randomStream(seed, 'completion', index),
        promptLength: prompt.length,
        tokens: [],
        logprobs: [],
        entropies: [],
        ...(params.samplingEntropy && { samplingEntropies: [] }),
      }
      const stop = advance(row, prefix.next, prefix.row)
      if (stop) ended.push(finish(row, stop))
      else lane.add(row, prefix.cache, prefix.row)
      if (--prefix.remaining === 0) prefixes.delete(request)
    }
    return ended
  }

  try {
    for (;;) {
      yield* admit()
      const busy = lanes.filter((lane) => lane.rows.length > 0)
      if (busy.length === 0) return
      // The first lane runs here, while the others run on threads of their own.
      const aside = busy.slice(1).map((lane) => lane.step(true))
      const nexts = [busy[0]!.step(false), ...aside]
      for (const [i, lane] of busy.entries()) {
        const next = await nexts[i]!
        const stops = lane.rows.map((row, place) => advance(row, next, place))
        for (let place = stops.length - 1; place >= 0; place--) {
          const stop = stops[place]
          if (stop) yield finish(lane.remove(place), stop)
        }
      }
      await breathe()
    }
  } finally {
    for (const lane of lanes) lane.release()
  }
}

/** Reads the prompts of the next completions in the queue, those of equal length in one run: no padding is computed. */
function readPrompts(
  model: Model,
  program: CompiledProgram,
  requests: readonly SampleRequest[],
  queue: readonly Waiting[],
  from: number,
  params: SampleParams,
  prefixes: Map<number, Prefix>,
): void {
  const byLength = new Map<number, number[]>()
  const chosen = new Set<number>()
  let tokens = 0
  for (let i = from; i < queue.length; i++) {
    const { request } = queue[i]!
    if (chosen.has(request) || prefixes.has(request)) continue
    const { length } = requests[request]!.prompt
    if (tokens > 0 && tokens + length > readAheadTokens) break
    tokens += length
    chosen.add(request)
    byLength.set(length, [...(byLength.get(length) ?? []), request])
  }
  for (const [length, group] of byLength) {
    const cache = new Cache(model.config, group.length, length)
    const decoder = new Decoder(model, program, cache, group.length, length, params.temperature)
    const ids = new Int32Array(group.length * length)
    group.forEach((request, row) => {
      ids.set(requests[request]!.prompt, row * length)
    })
    const next = decoder.step(ids, new Int32Array(group.length))
    decoder.release()
    group.forEach((request, row) => {
      prefixes.set(request, { cache, row, next, remaining: requests[request]!.n })
    })
  }
}

function finish(row: Row, stop: StopReason): SampledTokens {
  return {
    request: row.request,
    index: row.index,
    tokens: Int32Array.from(row.tokens),
    logprobs: Float32Array.from(row.logprobs) as RawLogprobs,
    entropies: Float32Array.from(row.entropies),
    ...(row.samplingEntropies && { samplingEntropies: Float32Array.from(row.samplingEntropies) }),
    stop,
  }
}

/** Every token holds at least one byte, so a stop string that has just been completed lies in as many tokens as it has bytes. */
function endsWithStop(
  tokens: number[],
  stops: readonly string[],
  decode: (tokens: number[]) => string,
): boolean {
  const longest = Math.max(...stops.map((stop) => Buffer.byteLength(stop)))
  const tail = decode(tokens.slice(-longest))
  return stops.some((stop) => tail.includes(stop))
}
