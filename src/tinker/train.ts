/** Requests for gradients and log-probabilities, in protobuf or in JSON. */
import type { Chunk } from './chunks.js'
import type { TrainResult } from './client.js'
import type { Body, Connection } from './connection.js'
import type { PreparedLoss } from './loss.js'
import { Passing } from './persistence.js'
import type { Request } from './request-queue.js'
import { answers } from './wire/endpoints.js'
import { trainRequestToJson, trainResultOfJson } from './wire/json.js'
import type { ForwardBackwardOutput } from './wire/messages.js'
import { decodeForwardBackwardOutput, encodeForwardBackwardRequest, protobufType } from './wire/protobuf.js'

type TrainKind = 'forward_backward' | 'forward'
/** Whether a position of a datum counts. */
type Counted = (datum: number, position: number) => boolean

/** Statuses of servers that do not read protobuf. */
const unreadStatuses = [400, 415, 422]

export function trainRequest(
  connection: Connection,
  modelId: string,
  asked: { kind: TrainKind; label: string | undefined; loss: PreparedLoss; chunk: Chunk; counted: Counted },
): Request<TrainResult> {
  const { kind, label, loss, chunk, counted } = asked
  const forwardOnly = kind === 'forward'
  const message = (seqId: number) => ({
    modelId,
    seqId,
    data: chunk.data,
    lossFn: loss.lossFn,
    lossFnConfig: loss.config,
    forwardOnly,
  })
  const inProtobuf = (seq: number) => encodeForwardBackwardRequest(message(seq))
  const byRoute = forwardOnly && connection.profile.forward === 'route'
  const encode = (seq: number): Body =>
    byRoute || connection.encoding === 'json'
      ? { content: JSON.stringify(trainRequestToJson(message(seq))), path: kind }
      : { content: inProtobuf(seq), type: protobufType, path: 'forward_backward' }
  const result = (output: ForwardBackwardOutput) => {
    if (!byRoute) connection.encoding ??= 'protobuf'
    return resultOf(output, chunk, counted)
  }
  return {
    kind,
    label,
    encode,
    identity: () => inProtobuf(0),
    bytes: chunk.bytes,
    reading: {
      type: forwardOnly ? 'Forward' : 'ForwardBackward',
      schema: answers.forward_backward,
      ofJson: (json) => result(trainResultOfJson(json)),
      ofProtobuf: (bytes) => result(decodeForwardBackwardOutput(bytes)),
    },
    refused: (status) => {
      const mayRead = connection.profile.train === 'protobuf' || connection.encoding !== undefined || byRoute
      if (mayRead || !unreadStatuses.includes(status)) return false
      connection.encoding = 'json'
      return true
    },
  }
}

/** Takes the place of a request that cannot be made, so that what was to build on it is not sent either. */
export function refusedRequest<T>(kind: TrainKind, error: unknown): Request<T> {
  const refuse = (): never => {
    throw error
  }
  return {
    kind,
    label: undefined,
    encode: refuse,
    identity: () => '',
    bytes: 0,
    reading: { type: '', schema: answers.forward_backward, ofJson: refuse },
    before: async () => refuse(),
  }
}

function resultOf(
  { outputs, metrics }: ForwardBackwardOutput,
  { data }: Chunk,
  counted: Counted,
): TrainResult {
  const unusable = (what: string) =>
    new Passing(`an answer with ${what}`, {
      kind: 'doubt',
      hint: 'Its gradients cannot be trusted: load the last saved weights into a new model.',
    })
  if (outputs.length !== data.length)
    throw unusable(`the outputs of ${outputs.length} sequences where ${data.length} were sent`)
  const logprobs = outputs.map((record, i) => {
    const values = record.logprobs?.data
    const { length } = data[i]!.tokens
    if (!(values instanceof Float32Array)) throw unusable('outputs that have no log-probabilities')
    if (values.length !== length) throw unusable(`${values.length} log-probabilities for ${length} tokens`)
    if (values.some((value, t) => Number.isNaN(value) && counted(i, t)))
      throw unusable('log-probabilities that are not numbers')
    return values
  })
  return { logprobs, metrics }
}
