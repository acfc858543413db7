/** A client of the barest kind for the server's own tests: one request, one answer. */
import { join } from 'node:path'
import { Agent, fetch, type RequestInit, type Response } from 'undici'
import { onTestFinished } from 'vitest'
import { projectRoot } from '../../src/core/paths.js'
import {
  decodeForwardBackwardOutput,
  decodeSampleResponse,
  encodeForwardBackwardRequest,
  type ForwardBackwardOutput,
  type ForwardBackwardRequest,
  protobufType,
  type SampleResponse,
  type WireDatum,
} from '../../src/tinker/wire.js'
import { startTinkerServer, type TinkerServer, type TinkerServerOptions } from './index.js'

export const tiny = join(projectRoot(), 'models', 'tiny')

/** A server with made-up weights, unless the test says otherwise, that ends with the test. */
export async function serve(
  options: Partial<TinkerServerOptions> & Pick<TinkerServerOptions, 'dialect'>,
): Promise<{ server: TinkerServer; client: Client }> {
  const server = await startTinkerServer({ models: { tiny }, scripted: {}, holdMs: 2000, ...options })
  onTestFinished(() => server.close())
  return { server, client: new Client(server) }
}

/** With real weights. */
export function serveReal(options: Partial<TinkerServerOptions> & Pick<TinkerServerOptions, 'dialect'>) {
  const { scripted: _, ...rest } = { scripted: undefined, ...options }
  return startTinkerServer({ models: { tiny }, holdMs: 20_000, ...rest }).then((server) => {
    onTestFinished(() => server.close())
    return { server, client: new Client(server) }
  })
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever is answered
type Anything = any

export interface Answer {
  status: number
  headers: Response['headers']
  body: Anything
}

/** A connection for each request: one that is kept may be one to a server that has died since. */
const dispatcher = new Agent({ pipelining: 0 })

export class Client {
  headers: Record<string, string> = {}

  constructor(readonly server: TinkerServer) {
    if (server.profile.auth !== 'none') this.headers['x-api-key'] = 'tml-test'
  }

  async ask(method: string, path: string, init: RequestInit = {}): Promise<Answer> {
    const response = await fetch(`${this.server.url}/api/v1/${path}`, {
      method,
      redirect: 'manual',
      dispatcher,
      ...init,
      headers: { ...this.headers, ...(init.headers as Record<string, string>) },
    })
    const type = response.headers.get('content-type') ?? ''
    const bytes = new Uint8Array(await response.arrayBuffer())
    const text = () => new TextDecoder().decode(bytes)
    const body = type.includes('json') ? JSON.parse(text()) : type.includes('html') ? text() : bytes
    return { status: response.status, headers: response.headers, body }
  }

  get(path: string): Promise<Answer> {
    return this.ask('GET', path)
  }

  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.ask('POST', path, {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    })
  }

  /** The answer of `retrieve_future`, asked again while the server says so. */
  async retrieve(request: string, headers: Record<string, string> = {}): Promise<Answer> {
    for (;;) {
      const answer = await this.post('retrieve_future', { request_id: request }, headers)
      if (answer.status === 408 || answer.body.type === 'try_again') continue
      return answer
    }
  }

  /** The result of a promise. */
  async result(promise: Answer | Promise<Answer>): Promise<Anything> {
    const { status, body } = await promise
    if (status >= 300) throw new Error(`refused with ${status}: ${JSON.stringify(body)}`)
    const answer = await this.retrieve(body.request_id)
    if (answer.status !== 200 || answer.body.error)
      throw new Error(`failed with ${answer.status}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  async protobufResult(promise: Answer | Promise<Answer>): Promise<Uint8Array> {
    const { body } = await promise
    const answer = await this.retrieve(body.request_id, { accept: protobufType })
    if (!(answer.body instanceof Uint8Array)) throw new Error(`failed: ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  async session(): Promise<string> {
    const { body } = await this.post('create_session', {
      tags: [],
      user_metadata: {},
      sdk_version: '0.25.0',
      type: 'create_session',
    })
    return body.session_id
  }

  async model(session: string, changes: Record<string, unknown> = {}): Promise<string> {
    const { model_id } = await this.result(
      this.post('create_model', {
        session_id: session,
        model_seq_id: 0,
        base_model: 'tiny',
        user_metadata: {},
        lora_config: { rank: 4, seed: 1, train_unembed: true, train_mlp: true, train_attn: true },
        type: 'create_model',
        ...changes,
      }),
    )
    return model_id
  }

  forwardBackward(request: Partial<ForwardBackwardRequest> & Pick<ForwardBackwardRequest, 'modelId'>) {
    const bytes = encodeForwardBackwardRequest({
      seqId: 1,
      data: [datum()],
      lossFn: 'cross_entropy',
      lossFnConfig: {},
      forwardOnly: false,
      ...request,
    })
    return this.ask('POST', 'forward_backward', {
      body: bytes as Uint8Array<ArrayBuffer>,
      headers: { 'content-type': protobufType },
    })
  }

  async trained(request: Parameters<Client['forwardBackward']>[0]): Promise<ForwardBackwardOutput> {
    return decodeForwardBackwardOutput(await this.protobufResult(this.forwardBackward(request)))
  }

  step(model: string, seq: number, adam: Record<string, number> = {}): Promise<Answer> {
    return this.post('optim_step', {
      model_id: model,
      seq_id: seq,
      type: 'optim_step',
      adam_params: {
        learning_rate: 1e-3,
        beta1: 0.9,
        beta2: 0.95,
        eps: 1e-8,
        weight_decay: 0,
        grad_clip_norm: 0,
        ...adam,
      },
    })
  }

  /** An ephemeral snapshot's sampling session. */
  async snapshot(model: string, seq: number, number = 0): Promise<string> {
    const { sampling_session_id } = await this.result(
      this.post('save_weights_for_sampler', {
        model_id: model,
        seq_id: seq,
        sampling_session_seq_id: number,
        type: 'save_weights_for_sampler',
      }),
    )
    return sampling_session_id
  }

  sample(session: string, changes: Record<string, unknown> = {}, params: Record<string, unknown> = {}) {
    return this.post('asample', {
      sampling_session_id: session,
      seq_id: 0,
      num_samples: 1,
      prompt: { chunks: [{ type: 'encoded_text', tokens: [10, 11, 12] }] },
      sampling_params: { max_tokens: 8, seed: 1, temperature: 1, top_k: -1, top_p: 1, ...params },
      prompt_logprobs: false,
      topk_prompt_logprobs: 0,
      type: 'sample',
      ...changes,
    })
  }

  async sampled(...args: Parameters<Client['sample']>): Promise<SampleResponse> {
    return decodeSampleResponse(await this.protobufResult(this.sample(...args)))
  }

  /** Log-probabilities of tokens 1.. of a sequence under a sampling session, as clients ask for them. */
  async scores(session: string, tokens: number[], seq = 0): Promise<number[]> {
    const response = await this.sampled(
      session,
      {
        seq_id: seq,
        prompt: { chunks: [{ type: 'encoded_text', tokens }] },
        prompt_logprobs: true,
      },
      { max_tokens: 1 },
    )
    return Array.from(response.promptLogprobs!).slice(-tokens.length + 1)
  }
}

/** One sequence of cross entropy: [10, 11, 12] with the last two targets weighted. */
export function datum(inputs: Record<string, number[]> = {}, tokens = [10, 11, 12]): WireDatum {
  const targets = [...tokens.slice(1), 13]
  const floats = Object.entries({ weights: [0, 1, 1], ...inputs }).map(
    ([name, values]) => [name, { dtype: 'float32' as const, data: Float32Array.from(values) }] as const,
  )
  return {
    tokens: Int32Array.from(tokens),
    inputs: {
      target_tokens: { dtype: 'int64', data: Int32Array.from(targets) },
      ...Object.fromEntries(floats),
    },
  }
}

/** One sequence of a policy loss, without weights. */
export function policyDatum(inputs: Record<string, number[]> = {}): WireDatum {
  const made = datum({ logprobs: [0, -2, -3], advantages: [0, 1, -0.5], ...inputs })
  if (!inputs.weights) delete made.inputs.weights
  return made
}
