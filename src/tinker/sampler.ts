/** Samples of weights that do not move. */
import type { Progress } from './call.js'
import type { Call, CallOptions, Sample, SampleOptions, Sampler } from './client.js'
import { type Connection, Gone } from './connection.js'
import { PromiseLost, ServerError, UserError } from './errors.js'
import { cutAtId } from './stop.js'
import { answers, type RequestBody } from './wire/endpoints.js'
import { modelInputToJson, sampleResultOfJson } from './wire/json.js'
import type { SampledSequence, SampleResponse } from './wire/messages.js'
import { decodeSampleResponse } from './wire/protobuf.js'

/** Requests of one sample: promises that are lost and answers without numbers are asked for anew. */
const mostTries = 4
/** Estimate of a token on the wire. */
const bytesPerToken = 10

interface Origin {
  /** Number of the first request. */
  first: number
  /** Whether the weights have moved on, where the server keeps no others. */
  stale?: () => boolean
  /** Hears of each sample under way. */
  during?: (sample: Promise<unknown>) => void
}

export class RemoteSampler implements Sampler {
  #next: number

  constructor(
    private readonly connection: Connection,
    readonly id: string,
    private readonly origin: Origin,
  ) {
    this.#next = origin.first
  }

  sample(prompt: Int32Array, options: SampleOptions): Call<Sample> {
    return this.#call(options, (progress) =>
      this.#untilUsable(prompt, options, progress, (response) => sampleOf(response, options, prompt.length)),
    )
  }

  computeLogprobs(tokens: Int32Array, options: CallOptions = {}): Call<Float32Array> {
    const asked: SampleOptions = { n: 1, maxTokens: 1, temperature: 1, promptLogprobs: true }
    return this.#call(options, (progress) =>
      this.#untilUsable(tokens, asked, progress, ({ promptLogprobs }) =>
        promptOf(promptLogprobs, tokens.length),
      ),
    )
  }

  #call<T>(options: CallOptions, work: (progress: Progress) => Promise<T>): Call<T> {
    return this.connection.call(
      `asample of ${this.id}`,
      (progress) => {
        const sample = this.#admitted(progress, work)
        this.origin.during?.(sample)
        return sample
      },
      options,
    )
  }

  async #admitted<T>(progress: Progress, work: (progress: Progress) => Promise<T>): Promise<T> {
    if (this.origin.stale?.())
      throw new UserError(`The weights of ${this.id} are gone: this server keeps those in training alone.`, {
        hint: 'Take a new snapshot after a step; an opponent that stays as it is needs a model of its own.',
      })
    progress.tell('fewer samples under way')
    const release = await this.connection.samples.take(1, progress.signal)
    try {
      return await work(progress)
    } finally {
      release()
    }
  }

  /** Asks until `read` accepts the answer; `read` gives a reason where it does not. */
  async #untilUsable<T extends object>(
    prompt: Int32Array,
    options: SampleOptions,
    progress: Progress,
    read: (response: SampleResponse) => T | string,
  ): Promise<T> {
    const { connection } = this
    check(prompt, options, connection)
    const { signal } = progress
    let reason = ''
    for (let tries = 0; tries < mostTries; tries++) {
      const what = `asample ${this.#next} of ${this.id}`
      const promise = await this.#send(prompt, options, what, progress)
      progress.accepted()
      try {
        const reading = {
          type: 'Sample',
          schema: answers.asample,
          ofJson: sampleResultOfJson,
          ofProtobuf: decodeSampleResponse,
        }
        const usable = read(await connection.retrieve(promise, reading, { what, signal, progress }))
        if (typeof usable !== 'string') return usable
        reason = usable
      } catch (error) {
        if (!(error instanceof Gone)) throw error
        if (tries === mostTries - 1) throw lost(connection, what, error)
      }
    }
    throw new ServerError(`${connection.transport.url} answers samples with ${reason}.`, {
      hint: 'See whether the weights have become numbers that are none, and load the last saved ones.',
    })
  }

  async #send(prompt: Int32Array, options: SampleOptions, what: string, progress: Progress) {
    const { connection } = this
    const { signal } = progress
    const content = JSON.stringify(this.#body(prompt, options, this.#next++))
    progress.tell(`room to send ${what}`)
    const releaseBytes = await connection.sampleBytes.take(prompt.length * bytesPerToken, signal)
    try {
      const release = await connection.dispatches.take(1, signal)
      try {
        progress.tell(`the server to take ${what}`)
        return await connection.promise({
          path: 'asample',
          body: () => ({ content }),
          what,
          signal,
          repeatable: true,
          headers: { 'x-tinker-sampling-backpressure': '1' },
          refused: (status) => {
            if (status === 429) connection.slowDown()
            return false
          },
        })
      } finally {
        release()
      }
    } finally {
      releaseBytes()
    }
  }

  #body(prompt: Int32Array, options: SampleOptions, seq: number): RequestBody<'asample'> {
    const { n, maxTokens, temperature, topP = 1, topK = 0, seed, stop = [] } = options
    return {
      sampling_session_id: this.id,
      seq_id: seq,
      num_samples: n,
      prompt: modelInputToJson(prompt),
      sampling_params: {
        max_tokens: maxTokens,
        ...(seed !== undefined && { seed }),
        ...(stop.length > 0 && { stop }),
        temperature,
        top_k: topK === 0 ? -1 : topK,
        top_p: topP,
      },
      ...(options.promptLogprobs && { prompt_logprobs: true }),
      ...(options.topkPromptLogprobs && { topk_prompt_logprobs: options.topkPromptLogprobs }),
      type: 'sample',
    }
  }
}

function check(
  prompt: Int32Array,
  { n, maxTokens, seed = 0, topP = 1, topK = 0 }: SampleOptions,
  { profile }: Connection,
): void {
  if (prompt.length === 0) throw new UserError('A sample was asked for without any prompt token.')
  if (!(n >= 1 && maxTokens >= 1))
    throw new UserError(
      `${n} samples of ${maxTokens} tokens were asked for: some servers never answer that.`,
      {
        hint: 'Ask for at least one sample of one token.',
      },
    )
  if (profile.seedsInARow && seed + n > 2 ** 31)
    throw new UserError(`The seed ${seed} is too large for ${n} samples on ${profile.dialect} servers.`, {
      hint: `The last sample has the seed ${seed + n - 1} there, and the largest is ${2 ** 31 - 1}.`,
    })
  if (!profile.truncates && (topP !== 1 || topK !== 0))
    throw new UserError(`top_p ${topP} and top_k ${topK} are not obeyed by ${profile.dialect} servers.`, {
      hint: 'Sample with top_p 1 and top_k 0 there.',
    })
}

/** The sample, or what is wrong with it. */
function sampleOf(
  response: SampleResponse,
  { n, stop = [], promptLogprobs }: SampleOptions,
  promptLength: number,
): Sample | string {
  if (response.sequences.length !== n)
    return `${response.sequences.length} completions where ${n} were asked for`
  const scores = promptLogprobs ? promptOf(response.promptLogprobs, promptLength) : response.promptLogprobs
  if (typeof scores === 'string') return scores
  const ids = stop.filter((item) => typeof item === 'number')
  const sequences: Required<SampledSequence>[] = []
  for (const { tokens, logprobs, stopReason } of response.sequences) {
    if (!logprobs) return 'tokens that have no log-probabilities'
    if (logprobs.length !== tokens.length)
      return `${logprobs.length} log-probabilities for ${tokens.length} tokens`
    if (logprobs.some(Number.isNaN)) return 'log-probabilities that are not numbers'
    const end = cutAtId(tokens, ids)
    sequences.push({
      tokens: tokens.slice(0, end),
      logprobs: logprobs.slice(0, end),
      stopReason: end === undefined ? stopReason : 'stop',
    })
  }
  return { ...response, sequences, ...(scores && { promptLogprobs: scores }) }
}

function promptOf(logprobs: Float32Array | undefined, length: number): Float32Array | string {
  if (!logprobs) return 'no log-probabilities of the prompt'
  // SkyRL says nothing of the first token.
  if (logprobs.length === length - 1) return promptOf(Float32Array.of(Number.NaN, ...logprobs), length)
  if (logprobs.length !== length) return `${logprobs.length} log-probabilities for ${length} prompt tokens`
  if (logprobs.subarray(1).some(Number.isNaN)) return 'log-probabilities that are not numbers'
  return logprobs
}

function lost({ transport }: Connection, what: string, gone: Gone): PromiseLost {
  return new PromiseLost(`${transport.url} lost ${what}, again and again: ${gone.message}.`, 'no', {
    hint: 'See whether the server runs steadily, and take a new snapshot.',
    cause: gone,
  })
}
