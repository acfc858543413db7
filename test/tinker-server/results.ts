/** What `retrieve_future` says: the result in JSON or protobuf, not yet, gone, or why it failed. */
import {
  encodeForwardBackwardOutput,
  encodeSampleResponse,
  type ForwardBackwardOutput,
  type SampleResponse,
  sampleResultToJson,
  type Tensor,
  trainResultToJson,
} from '../../src/tinker/wire.js'
import type { Profile } from './dialects.js'
import { type OperationError, unexpected } from './errors.js'
import type { Misfortune } from './faults.js'
import type { Future } from './futures.js'
import { encoded, type Reply } from './http.js'

export interface Asking {
  protobuf: boolean
  metadataOnly: boolean
  /** Bytes above which a result is announced by its size, where the client asked for that. */
  bigBytes: number
  queue: { state: string; reason?: string } | undefined
  fault: Misfortune | undefined
}

export function answerOf(profile: Profile, future: Future, asking: Asking): Reply {
  const { outcome } = future
  if (future.lost) return { status: 410, body: { detail: 'Promise expired' } }
  if (!outcome) return notYet(profile, future, asking)
  if ('cancelled' in outcome) return { status: 410, body: { detail: 'cancelled' } }
  if ('error' in outcome) return failure(profile, outcome.error)
  const body = resultBody(
    future.kind,
    distorted(future.kind, outcome.value, asking.fault),
    asking.protobuf || profile.results === 'protobuf',
  )
  if (asking.metadataOnly) {
    const { bytes } = encoded(body)
    if (bytes.length > asking.bigBytes)
      return { status: 200, body: { status: 'complete_metadata', response_payload_size: bytes.length } }
  }
  return { status: 200, body }
}

function notYet({ expired, dialect }: Profile, { id }: Future, { queue }: Asking): Reply {
  const state = {
    queue_state: queue?.state ?? 'active',
    ...(queue?.reason !== undefined && { queue_state_reason: queue.reason }),
  }
  if (expired === 'try_again' || (queue && queue.state !== 'active'))
    return { status: 200, body: { type: 'try_again', request_id: id, ...state } }
  return {
    status: 408,
    body: { detail: 'Timeout waiting for result', ...(dialect === 'hosted' && state) },
  }
}

function failure({ failure }: Profile, { message, category, status }: OperationError): Reply {
  switch (failure) {
    case 'body':
      return { status: 200, body: { error: message, category } }
    case '400':
      return category === 'server'
        ? { status: 500, body: { detail: 'Unknown error' } }
        : { status: 400, body: { detail: message } }
    case 'status': {
      const what = status === unexpected ? 'Future failed' : 'Failed to retrieve future'
      return { status, body: { detail: `${what}: ${message}` } }
    }
    case 'openrl':
      return { status: 400, body: { type: 'RequestFailedResponse', error_message: message } }
  }
}

function resultBody(kind: string, value: unknown, protobuf: boolean): unknown {
  if (kind === 'forward_backward' || kind === 'forward') {
    const output = value as ForwardBackwardOutput
    return protobuf ? encodeForwardBackwardOutput(output) : trainResultToJson(output)
  }
  if (kind === 'sample') {
    const response = value as SampleResponse
    return protobuf ? encodeSampleResponse(response) : sampleResultToJson(response)
  }
  return value
}

/** The result as a fault makes it. */
function distorted(kind: string, value: unknown, fault: Misfortune | undefined): unknown {
  if (fault?.kind !== 'nan' && fault?.kind !== 'shape') return value
  const isNan = fault.kind === 'nan'
  const bent = (values: Float32Array) =>
    isNan ? new Float32Array(values.length).fill(Number.NaN) : values.slice(0, -1)
  if (kind === 'sample') {
    const { sequences, ...rest } = value as SampleResponse
    return {
      ...rest,
      sequences: sequences.map((one) => ({
        ...one,
        ...(one.logprobs && { logprobs: bent(one.logprobs) }),
      })),
      ...(rest.promptLogprobs && { promptLogprobs: bent(rest.promptLogprobs) }),
    } satisfies SampleResponse
  }
  if (kind === 'forward_backward' || kind === 'forward') {
    const output = value as ForwardBackwardOutput
    const outputs = output.outputs.map((record): Record<string, Tensor> => {
      const data = bent(record.logprobs!.data as Float32Array)
      return { ...record, logprobs: { dtype: 'float32', data, shape: [data.length] } }
    })
    return { ...output, outputs: isNan ? outputs : outputs.slice(0, -1) }
  }
  return isNan ? value : { unexpected: true }
}
