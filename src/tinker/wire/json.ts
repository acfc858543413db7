/** Training and sampling in JSON: what the protobuf messages carry, for servers and answers that have no protobuf. */
import type { z } from 'zod'
import { WireError } from './bytes.js'
import type { sampleResultJson, tensorJson, trainInputJson, trainResultJson } from './endpoints.js'
import type {
  ForwardBackwardOutput,
  ForwardBackwardRequest,
  SampleResponse,
  Tensor,
  TopkLogprobs,
  WireDatum,
} from './messages.js'

type TensorJson = z.output<typeof tensorJson>
type TrainInput = z.output<typeof trainInputJson>
type TrainResult = z.output<typeof trainResultJson>
type SampleResult = z.output<typeof sampleResultJson>

const unusedLogprob = -99999

/** Body of `forward`, where only log-probabilities are asked for, or of `forward_backward`. */
export function trainRequestToJson(request: ForwardBackwardRequest) {
  const input: TrainInput = {
    data: request.data.map(({ tokens, inputs }) => ({
      model_input: modelInputToJson(tokens),
      loss_fn_inputs: mapValues(inputs, tensorToJson),
    })),
    loss_fn: request.lossFn,
    ...(Object.keys(request.lossFnConfig).length > 0 && { loss_fn_config: request.lossFnConfig }),
  }
  const head = { model_id: request.modelId, seq_id: request.seqId }
  return request.forwardOnly ? { ...head, forward_input: input } : { ...head, forward_backward_input: input }
}

/** The data of a training request. Throws WireError where a value is missing. */
export function trainDataOfJson(input: TrainInput): WireDatum[] {
  return input.data.map(({ model_input, loss_fn_inputs }) => ({
    tokens: tokensOfJson(model_input),
    inputs: mapValues(loss_fn_inputs, tensorOfJson),
  }))
}

export function modelInputToJson(tokens: Int32Array) {
  return { chunks: [{ type: 'encoded_text' as const, tokens: Array.from(tokens) }] }
}

export function tokensOfJson(input: { chunks: { tokens: number[] }[] }): Int32Array {
  return Int32Array.from(input.chunks.flatMap(({ tokens }) => tokens))
}

export function trainResultToJson(output: ForwardBackwardOutput): TrainResult {
  return {
    loss_fn_output_type: output.type,
    loss_fn_outputs: output.outputs.map((record) => mapValues(record, tensorToJson)),
    metrics: output.metrics,
  }
}

export function trainResultOfJson(result: TrainResult): ForwardBackwardOutput {
  return {
    type: result.loss_fn_output_type.split(':').at(-1)!,
    outputs: result.loss_fn_outputs.map((record) => mapValues(record, tensorOfJson)),
    metrics: mapValues(result.metrics, (value) => value ?? Number.NaN),
  }
}

export function sampleResultToJson({
  sequences,
  promptLogprobs,
  topkPromptLogprobs,
}: SampleResponse): SampleResult {
  return {
    sequences: sequences.map(({ tokens, logprobs, stopReason }) => ({
      stop_reason: stopReason,
      tokens: Array.from(tokens),
      ...(logprobs && { logprobs: sayable(logprobs) }),
    })),
    ...(promptLogprobs && { prompt_logprobs: sayable(promptLogprobs) }),
    ...(topkPromptLogprobs && { topk_prompt_logprobs: topkToJson(topkPromptLogprobs) }),
  }
}

export function sampleResultOfJson(result: SampleResult): SampleResponse {
  return {
    sequences: result.sequences.map(({ tokens, logprobs, stop_reason }) => ({
      tokens: Int32Array.from(tokens),
      ...(logprobs && { logprobs: floats(logprobs) }),
      stopReason: stop_reason,
    })),
    ...(result.prompt_logprobs && { promptLogprobs: floats(result.prompt_logprobs) }),
    ...(result.topk_prompt_logprobs && { topkPromptLogprobs: topkOfJson(result.topk_prompt_logprobs) }),
  }
}

function topkToJson({ k, tokenIds, logprobs }: TopkLogprobs): SampleResult['topk_prompt_logprobs'] {
  return Array.from({ length: k === 0 ? 0 : tokenIds.length / k }, (_, t) => {
    const cells: [number, number][] = []
    for (let i = t * k; i < (t + 1) * k; i++)
      if (logprobs[i]! > unusedLogprob) cells.push([tokenIds[i]!, logprobs[i]!])
    return cells.length > 0 ? cells : null
  })
}

function topkOfJson(rows: NonNullable<SampleResult['topk_prompt_logprobs']>): TopkLogprobs {
  const k = rows.reduce((most, row) => Math.max(most, row?.length ?? 0), 0)
  const tokenIds = new Int32Array(rows.length * k)
  const logprobs = new Float32Array(rows.length * k).fill(unusedLogprob)
  rows.forEach((row, t) => {
    row?.forEach(([token, logprob], i) => {
      tokenIds[t * k + i] = token
      logprobs[t * k + i] = logprob
    })
  })
  return { k, tokenIds, logprobs }
}

function tensorToJson(tensor: Tensor): TensorJson {
  return {
    data: tensor.dtype === 'float32' ? sayable(tensor.data) : Array.from(tensor.data),
    dtype: tensor.dtype,
    shape: tensor.shape ?? [tensor.data.length],
  }
}

function tensorOfJson({ data, dtype, shape }: TensorJson): Tensor {
  const shaped = shape ? { shape } : {}
  if (dtype === 'float32') return { dtype, data: floats(data), ...shaped }
  if (data.some((value) => value === null || value !== Math.trunc(value)))
    throw new WireError('a tensor of integers that holds other values')
  return { dtype, data: Int32Array.from(data as number[]), ...shaped }
}

const floats = (values: (number | null)[]) => Float32Array.from(values, (value) => value ?? Number.NaN)
const sayable = (values: Float32Array) =>
  Array.from(values, (value) => (Number.isFinite(value) ? value : null))

function mapValues<A, B>(record: Record<string, A>, map: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]))
}
