import type { Datum } from '../../core/datum.js'
import type { Rollout } from '../../core/rollout.js'
import { completionText } from '../completion-text.js'
import type {
  AdamParams,
  FrozenPolicy,
  Loss,
  LossReport,
  OptimReport,
  Policy,
  SampleParams,
  SampleRequest,
  Tokenizer,
} from '../engine.js'
import type { Client } from './client.js'
import type { OpenedPolicy } from './host.js'
import type { SampledTokens } from './sample/sampler.js'

/** A policy whose weights live in the engine's thread. */
export class LocalPolicy implements Policy {
  #version: number

  constructor(
    private readonly client: Client,
    private readonly opened: OpenedPolicy,
    readonly tokenizer: Tokenizer,
  ) {
    this.#version = opened.version
  }

  get version(): number {
    return this.#version
  }

  async *sample(
    requests: SampleRequest[],
    params: SampleParams,
    signal?: AbortSignal,
  ): AsyncGenerator<Rollout> {
    const { handle } = this.opened
    const stream = this.client.stream<SampledTokens & { version: number }>(
      'sample',
      [handle, requests, params],
      signal,
    )
    for await (const sampled of stream)
      yield { ...sampled, text: completionText(this.tokenizer, sampled, params) }
  }

  logprobs(sequences: { tokens: Int32Array; targets: Int32Array }[]): Promise<Float32Array[]> {
    const bare = sequences.map(({ tokens, targets }) => ({ tokens, targets }))
    return this.client.call('logprobs', this.opened.handle, bare)
  }

  forwardBackward(data: Datum[], loss: Loss): Promise<LossReport> {
    return this.client.call('forwardBackward', this.opened.handle, data, loss)
  }

  async optimStep(adam: AdamParams): Promise<OptimReport> {
    const report = await this.client.call<OptimReport>('optimStep', this.opened.handle, adam)
    this.#version = report.version
    return report
  }

  /** Accumulated gradients by Hugging Face (or adapter) name, for inspection. */
  gradients(): Promise<Map<string, Float32Array>> {
    return this.client.call('gradients', this.opened.handle)
  }

  async snapshot(): Promise<FrozenPolicy> {
    const opened = await this.client.call<OpenedPolicy>('snapshot', this.opened.handle)
    return new LocalPolicy(this.client, opened, this.tokenizer)
  }

  async save(folder: string, options: { optimizer?: boolean } = {}): Promise<void> {
    await this.client.call('save', this.opened.handle, folder, options.optimizer ?? true)
  }

  async load(folder: string): Promise<void> {
    this.#version = await this.client.call('load', this.opened.handle, folder)
  }

  close(): Promise<void> {
    return this.client.call('release', this.opened.handle)
  }
}
