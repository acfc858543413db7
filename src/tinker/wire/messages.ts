/** What is sent and answered for training and sampling, whichever encoding carries it. */

/** Row-major values. int64 tensors hold integers of 32 bits: token ids are no larger. */
export type Tensor = { shape?: number[] } & (
  | { dtype: 'float32'; data: Float32Array }
  | { dtype: 'int64'; data: Int32Array }
)

/** One training sequence: the tokens that are read, and the inputs of the loss by their names. */
export interface WireDatum {
  tokens: Int32Array
  inputs: Record<string, Tensor>
}

export interface ForwardBackwardRequest {
  modelId: string
  /** Counts the training requests of a model from 1. */
  seqId: number
  data: WireDatum[]
  lossFn: string
  lossFnConfig: Record<string, number>
  forwardOnly: boolean
}

export interface ForwardBackwardOutput {
  /** Name of the loss's output type, as the server has it. */
  type: string
  /** Tensors by name, one record a datum; `logprobs` is the log-probability of each target. */
  outputs: Record<string, Tensor>[]
  /** By `name:reduction`. */
  metrics: Record<string, number>
}

export interface SampledSequence {
  /** The token that ended the completion included. */
  tokens: Int32Array
  /** Raw log-probability of each token, where the server gives them. */
  logprobs?: Float32Array
  stopReason: 'stop' | 'length'
}

export interface TopkLogprobs {
  k: number
  /** Shape [prompt length, k]; unused cells hold token 0 at log-probability -99999. */
  tokenIds: Int32Array
  logprobs: Float32Array
}

export interface SampleResponse {
  sequences: SampledSequence[]
  /** Log-probability of each prompt token given those before it; NaN where there is none, as for the first. */
  promptLogprobs?: Float32Array
  topkPromptLogprobs?: TopkLogprobs
}
