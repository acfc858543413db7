/**
 * The engine contract, after Tinker's primitives, so that this machine and a service are the same program.
 * A game never knows which engine plays it; an engine never knows which game it serves.
 */
import type { Datum } from '../core/datum.js'
import type { Rollout } from '../core/rollout.js'

export interface LoraSpec {
  rank: number
  /** Update is scaled by alpha / rank. */
  alpha: number
  /** Linear layers that get an adapter, by their Hugging Face names: q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj. */
  targets: string[]
}

export interface PolicySpec {
  /** Folder in Hugging Face form, or one written by `save`, of which only the weights are taken: the optimizer starts anew. */
  model: string
  /** Full weights where absent. */
  lora?: LoraSpec
  /** Whether chat templates that ask (`enable_thinking`) let the model think before it answers. @default true */
  thinking?: boolean
  /** Seeds the adapter's initial weights. */
  seed: number
  /** How a server is asked for the model; for engines whose policies live on one. */
  remote?: RemoteModel
}

export interface RemoteModel {
  /** The model as the user named it, of which `model` is the folder. */
  name?: string
  /** What the server calls the base model. @default what the server says, as far as it is clear */
  baseModel?: string
  /** Address of the server. @default the engine's */
  url?: string
  /** Role that it plays, for messages. */
  role?: string
}

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant'
  content: string
}

export interface Tokenizer {
  /** Size of the logits. */
  vocabSize: number
  /** Ids that end a completion. */
  eosIds: number[]
  encode(text: string): Int32Array
  /** Special tokens are left out unless asked for. */
  decode(tokens: ArrayLike<number>, options?: { special?: boolean }): string
  /** Applies the model's chat template with the generation prompt and encodes it. Throws DataError where the model has no template. */
  encodeChat(messages: ChatMessage[], options?: { generationPrompt?: boolean; suffix?: string }): Int32Array
}

export interface SampleRequest {
  prompt: Int32Array
  /** Completions of this prompt. */
  n: number
  /** Names this request's random stream: the same seed gives the same completion. */
  seed: number
}

export interface SampleParams {
  maxTokens: number
  /** 0 = greedy. */
  temperature: number
  /** Nucleus, (0, 1]; 1 = off. */
  topP: number
  /** 0 = off. */
  topK: number
  /** Strings that end a completion; the text ends before them, the tokens include them. */
  stop: string[]
  /** Ids that end a completion, beside the tokenizer's own; the text ends before them, the tokens include them. */
  stopIds?: number[]
  /** Rollouts carry `samplingEntropies` as well, from engines that know exact entropies. */
  samplingEntropy?: boolean
}

/**
 * Loss by its Tinker name; sums over tokens of the batch, so every normaliser is the game's and sits in weights and
 * advantages. The clip bounds are those of the ratio itself (0.8 and 1.2).
 */
export type Loss =
  | { name: 'cross_entropy' }
  | ({ name: 'importance_sampling' } & PolicyLoss)
  | ({ name: 'ppo'; clipLow: number; clipHigh: number } & PolicyLoss)

interface PolicyLoss {
  /** Temperature the datum's log-probabilities were taken at: 1 = raw. Ratios are formed at the same temperature. */
  temperature: number
  /** Coefficient of the k3 estimate of KL(policy || reference), times |weight| of the token: needs referenceLogprobs and weights. */
  klCoefficient?: number
}

export interface LossReport {
  /** Sum over tokens. */
  loss: number
  /** Tokens with a non-zero weight or advantage. */
  tokens: number
  /**
   * Log-probabilities of the targets at the loss's temperature, under the weights used, before any step; NaN at positions
   * that were context only. One array a datum.
   */
  logprobs: Float32Array[]
  /** Means over trained tokens of policy losses; absent for cross_entropy. */
  ratio?: { mean: number; max: number; clippedLow: number; clippedHigh: number; klSampler: number }
}

export interface AdamParams {
  learningRate: number
  beta1: number
  beta2: number
  epsilon: number
  /** Decoupled (AdamW); not applied to norms and biases. */
  weightDecay: number
  /** Global gradient norm above which gradients are scaled down; 0 = no clipping. */
  clipNorm: number
}

export interface OptimReport {
  /** Global norm before clipping; NaN where a server does not tell it. */
  gradNorm: number
  /** Global norm of the weight change; NaN where a server does not tell it. */
  updateNorm: number
  version: number
}

/** An opponent or a reference: never trained, unmoved by its policy's later steps. */
export interface FrozenPolicy {
  readonly tokenizer: Tokenizer
  readonly version: number
  sample(requests: SampleRequest[], params: SampleParams, signal?: AbortSignal): AsyncIterable<Rollout>
  /** Raw log-probability of each target given the tokens up to it: one array [T] a sequence. */
  logprobs(sequences: { tokens: Int32Array; targets: Int32Array }[]): Promise<Float32Array[]>
  close(): Promise<void>
}

/**
 * Calls take effect in the order in which they are made, and need not wait for each other: `forwardBackward` and the
 * `optimStep` on its gradient are called back to back and awaited together, so that they travel together.
 */
export interface Policy extends FrozenPolicy {
  /** Gradients accumulate until `optimStep`. */
  forwardBackward(data: Datum[], loss: Loss): Promise<LossReport>
  optimStep(adam: AdamParams): Promise<OptimReport>
  snapshot(): Promise<FrozenPolicy>
  /** Writes weights or adapter and the optimizer's state into the folder, in Hugging Face (PEFT) form. */
  save(folder: string, options?: { optimizer?: boolean }): Promise<void>
  /** Takes weights and, where present, optimizer state and version from a folder written by `save`. */
  load(folder: string): Promise<void>
}

export interface MemoryPlan {
  /** Bytes by purpose, largest first. */
  parts: { what: string; bytes: number }[]
  totalBytes: number
  availableBytes: number
}

export interface EngineCapabilities {
  name: string
  /** Rollouts carry exact entropies. */
  exactEntropy: boolean
  /** The same seed gives the same numbers, to the bit. */
  deterministic: boolean
  /** Policy losses accept temperatures other than 1. */
  temperedLoss: boolean
  /**
   * Policies live on a server: they are adapters (`lora` must be given), take no memory here that could be planned, and
   * steps report norms only where the server tells them.
   */
  remote?: true
}

export interface Engine {
  readonly capabilities: EngineCapabilities
  open(spec: PolicySpec): Promise<Policy>
  /** What the opened policies will need for sampling and training; throws EngineError when the machine has less. */
  planMemory(load: { trainTokens: number; longestSequence: number; sampleRows: number }): Promise<MemoryPlan>
  /** Peak resident memory so far, bytes, where the engine runs here. */
  peakMemory(): number | undefined
  close(): Promise<void>
}

/** Collects a sample stream in order of request, then index. */
export async function collect(stream: AsyncIterable<Rollout>): Promise<Rollout[]> {
  const rollouts: Rollout[] = []
  for await (const rollout of stream) rollouts.push(rollout)
  return rollouts.sort((a, b) => a.request - b.request || a.index - b.index)
}
