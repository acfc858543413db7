/**
 * The protobuf messages of the Tinker protocol (package tinker_public). Readers pass over fields they do not know, so
 * newer servers may add some; what cannot be read throws WireError.
 */
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { bytesOf, floatsOf, halvesOf, intsOf, longBytesOf, longsOf, WireError } from './bytes.js'
import type {
  ForwardBackwardOutput,
  ForwardBackwardRequest,
  SampledSequence,
  SampleResponse,
  Tensor,
  TopkLogprobs,
  WireDatum,
} from './messages.js'

export const protobufType = 'application/x-protobuf'

const float32 = 1
const int64 = 2
const int32 = 3
const bfloat16 = 4
const stopReasons = ['stop', 'length'] as const

type Write = (writer: BinaryWriter) => void
type Read = (field: number, reader: BinaryReader) => boolean

export function encodeForwardBackwardRequest(request: ForwardBackwardRequest): Uint8Array {
  const writer = new BinaryWriter()
  text(writer, 1, request.modelId)
  integer(writer, 2, request.seqId)
  for (const datum of request.data) message(writer, 3, (w) => writeDatum(w, datum))
  text(writer, 4, request.lossFn)
  for (const [key, value] of sorted(request.lossFnConfig))
    message(writer, 5, (w) => writeDouble(w, key, value))
  if (request.forwardOnly) writer.tag(6, WireType.Varint).bool(true)
  return writer.finish()
}

export function decodeForwardBackwardRequest(bytes: Uint8Array): ForwardBackwardRequest {
  const request: ForwardBackwardRequest = {
    modelId: '',
    seqId: 0,
    data: [],
    lossFn: '',
    lossFnConfig: {},
    forwardOnly: false,
  }
  read(bytes, (field, reader) => {
    if (field === 1) request.modelId = reader.string()
    else if (field === 2) request.seqId = reader.int32()
    else if (field === 3) request.data.push(readDatum(reader.bytes()))
    else if (field === 4) request.lossFn = reader.string()
    else if (field === 5) readEntry(reader.bytes(), request.lossFnConfig, (r) => r.double(), 0)
    else if (field === 6) request.forwardOnly = reader.bool()
    else return false
    return true
  })
  return request
}

/** `typeTag` names the record type of the outputs; readers do not need it. */
export function encodeForwardBackwardOutput(output: ForwardBackwardOutput, typeTag = 'record'): Uint8Array {
  const writer = new BinaryWriter()
  text(writer, 1, output.type)
  for (const records of runsOfSameKeys(output.outputs))
    message(writer, 2, (w) => writeRecords(w, records, typeTag))
  for (const [key, value] of sorted(output.metrics)) message(writer, 3, (w) => writeDouble(w, key, value))
  return writer.finish()
}

export function decodeForwardBackwardOutput(bytes: Uint8Array): ForwardBackwardOutput {
  const output: ForwardBackwardOutput = { type: '', outputs: [], metrics: {} }
  read(bytes, (field, reader) => {
    if (field === 1) output.type = reader.string().split(':').at(-1)!
    else if (field === 2) output.outputs.push(...readRecords(reader.bytes()))
    else if (field === 3) readEntry(reader.bytes(), output.metrics, (r) => r.double(), 0)
    else return false
    return true
  })
  return output
}

export function encodeSampleResponse(response: SampleResponse): Uint8Array {
  const writer = new BinaryWriter()
  for (const sequence of response.sequences)
    message(writer, 1, (w) => {
      integer(w, 1, stopReasons.indexOf(sequence.stopReason))
      raw(w, 2, bytesOf(sequence.tokens))
      if (sequence.logprobs) present(w, 3, bytesOf(sequence.logprobs))
    })
  if (response.promptLogprobs) present(writer, 2, bytesOf(response.promptLogprobs))
  const topk = response.topkPromptLogprobs
  if (topk)
    message(writer, 3, (w) => {
      raw(w, 1, bytesOf(topk.tokenIds))
      raw(w, 2, bytesOf(topk.logprobs))
      integer(w, 3, topk.k)
      integer(w, 4, topk.k === 0 ? 0 : topk.tokenIds.length / topk.k)
    })
  return writer.finish()
}

export function decodeSampleResponse(bytes: Uint8Array): SampleResponse {
  const response: SampleResponse = { sequences: [] }
  read(bytes, (field, reader) => {
    if (field === 1) response.sequences.push(readSequence(reader.bytes()))
    else if (field === 2) response.promptLogprobs = floatsOf(reader.bytes())
    else if (field === 3) response.topkPromptLogprobs = readTopk(reader.bytes())
    else return false
    return true
  })
  return response
}

function writeDatum(writer: BinaryWriter, { tokens, inputs }: WireDatum): void {
  message(writer, 1, (chunk) => message(chunk, 1, (encoded) => raw(encoded, 1, bytesOf(tokens))))
  for (const [key, tensor] of sorted(inputs))
    message(writer, 2, (entry) => {
      keyOf(entry, key)
      message(entry, 2, (w) => {
        present(w, 1, valuesOf(tensor))
        integer(w, 3, tensor.dtype === 'float32' ? float32 : int64)
        if (tensor.shape) packed(w, 4, tensor.shape)
      })
    })
}

function readDatum(bytes: Uint8Array): WireDatum {
  const chunks: Int32Array[] = []
  const inputs: Record<string, Tensor> = {}
  read(bytes, (field, reader) => {
    if (field === 1) chunks.push(readChunk(reader.bytes()))
    else if (field === 2) readEntry(reader.bytes(), inputs, (r) => readTensor(r.bytes()))
    else return false
    return true
  })
  return { tokens: joined(chunks), inputs }
}

function readChunk(bytes: Uint8Array): Int32Array {
  let tokens: Int32Array | undefined
  read(bytes, (field, reader) => {
    if (field !== 1) throw new WireError('a chunk of the model input that is no text')
    tokens = new Int32Array()
    read(reader.bytes(), (inner, r) => {
      if (inner !== 1) return false
      tokens = intsOf(r.bytes())
      return true
    })
    return true
  })
  if (!tokens) throw new WireError('an empty chunk of the model input')
  return tokens
}

function readTensor(bytes: Uint8Array): Tensor {
  let dense = new Uint8Array()
  let type = 0
  let shape: number[] | undefined
  read(bytes, (field, reader, wireType) => {
    if (field === 1) dense = reader.bytes() as Uint8Array<ArrayBuffer>
    else if (field === 2) throw new WireError('a sparse tensor')
    else if (field === 3) type = reader.int32()
    else if (field === 4) shape = [...(shape ?? []), ...readIntegers(reader, wireType)]
    else return false
    return true
  })
  const tensor = tensorOf(type, dense)
  return shape ? { ...tensor, shape } : tensor
}

function writeRecords(writer: BinaryWriter, records: Record<string, Tensor>[], typeTag: string): void {
  text(writer, 1, typeTag)
  for (const [key] of sorted(records[0]!)) {
    const column = records.map((record) => record[key]!)
    const parts = column.map(valuesOf)
    const offsets = [0]
    for (const part of parts) offsets.push(offsets.at(-1)! + part.length)
    message(writer, 2, (entry) => {
      keyOf(entry, key)
      message(entry, 2, (w) => {
        raw(w, 1, Buffer.concat(parts))
        raw(w, 2, longBytesOf(offsets))
        integer(w, 3, column[0]!.dtype === 'float32' ? float32 : int64)
        packed(w, 4, column[0]!.shape?.slice(1) ?? [])
      })
    })
  }
  integer(writer, 3, records.length)
}

function readRecords(bytes: Uint8Array): Record<string, Tensor>[] {
  const columns: Record<string, Tensor[]> = {}
  let count = 0
  read(bytes, (field, reader) => {
    if (field === 2) readEntry(reader.bytes(), columns, (r) => readColumn(r.bytes()))
    else if (field === 3) count = Number(reader.int64())
    else return false
    return true
  })
  for (const [key, column] of Object.entries(columns))
    if (column.length !== count)
      throw new WireError(`${column.length} values of ${key} for ${count} sequences`)
  return Array.from({ length: count }, (_, i) =>
    Object.fromEntries(Object.entries(columns).map(([key, column]) => [key, column[i]!])),
  )
}

function readColumn(bytes: Uint8Array): Tensor[] {
  let data = new Uint8Array()
  let offsets = new Int32Array()
  let type = 0
  const trailing: number[] = []
  read(bytes, (field, reader, wireType) => {
    if (field === 1) data = reader.bytes() as Uint8Array<ArrayBuffer>
    else if (field === 2) offsets = longsOf(reader.bytes()) as Int32Array<ArrayBuffer>
    else if (field === 3) type = reader.int32()
    else if (field === 4) trailing.push(...readIntegers(reader, wireType))
    else return false
    return true
  })
  if (offsets.length > 0 && (offsets[0] !== 0 || offsets.at(-1) !== data.length))
    throw new WireError('offsets that do not span the values')
  const width = trailing.reduce((product, size) => product * size, 1)
  return Array.from({ length: Math.max(0, offsets.length - 1) }, (_, i) => {
    if (offsets[i + 1]! < offsets[i]!) throw new WireError('offsets that decrease')
    const tensor = tensorOf(type, data.subarray(offsets[i], offsets[i + 1]))
    return { ...tensor, shape: [width === 0 ? 0 : tensor.data.length / width, ...trailing] }
  })
}

function readSequence(bytes: Uint8Array): SampledSequence {
  const sequence: SampledSequence = { tokens: new Int32Array(), stopReason: 'stop' }
  read(bytes, (field, reader) => {
    if (field === 1) sequence.stopReason = stopReasons[reader.int32()] ?? 'stop'
    else if (field === 2) sequence.tokens = intsOf(reader.bytes())
    else if (field === 3) sequence.logprobs = floatsOf(reader.bytes())
    else return false
    return true
  })
  return sequence
}

function readTopk(bytes: Uint8Array): TopkLogprobs {
  const topk: TopkLogprobs = { k: 0, tokenIds: new Int32Array(), logprobs: new Float32Array() }
  read(bytes, (field, reader) => {
    if (field === 1) topk.tokenIds = intsOf(reader.bytes())
    else if (field === 2) topk.logprobs = floatsOf(reader.bytes())
    else if (field === 3) topk.k = reader.uint32()
    else return false
    return true
  })
  return topk
}

function tensorOf(type: number, bytes: Uint8Array): Tensor {
  if (type === float32) return { dtype: 'float32', data: floatsOf(bytes) }
  if (type === int64) return { dtype: 'int64', data: longsOf(bytes) }
  if (type === int32) return { dtype: 'int64', data: intsOf(bytes) }
  if (type === bfloat16) return { dtype: 'float32', data: halvesOf(bytes) }
  throw new WireError(`a tensor of the unknown type ${type}`)
}

function valuesOf(tensor: Tensor): Uint8Array {
  return tensor.dtype === 'float32' ? bytesOf(tensor.data) : longBytesOf(tensor.data)
}

/** Consecutive records that hold the same names: one batch of tensors carries only such. */
function runsOfSameKeys(records: Record<string, Tensor>[]): Record<string, Tensor>[][] {
  const runs: Record<string, Tensor>[][] = []
  let last: string | undefined
  for (const record of records) {
    const keys = Object.keys(record).sort().join('\0')
    if (keys === last) runs.at(-1)!.push(record)
    else runs.push([record])
    last = keys
  }
  return runs
}

/** Keys in order, so that the same message has the same bytes. */
function sorted<T>(record: Record<string, T>): [string, T][] {
  return Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))
}

function message(writer: BinaryWriter, field: number, write: Write): void {
  writer.tag(field, WireType.LengthDelimited).fork()
  write(writer)
  writer.join()
}

function writeDouble(writer: BinaryWriter, key: string, value: number): void {
  keyOf(writer, key)
  writer.tag(2, WireType.Bit64).double(value)
}

const keyOf = (writer: BinaryWriter, key: string) => writer.tag(1, WireType.LengthDelimited).string(key)
const present = (writer: BinaryWriter, field: number, value: Uint8Array) =>
  writer.tag(field, WireType.LengthDelimited).bytes(value)

/** Values that equal a field's default are left out, as proto3 has it. */
function text(writer: BinaryWriter, field: number, value: string): void {
  if (value !== '') writer.tag(field, WireType.LengthDelimited).string(value)
}
function integer(writer: BinaryWriter, field: number, value: number): void {
  if (value !== 0) writer.tag(field, WireType.Varint).int64(value)
}
function raw(writer: BinaryWriter, field: number, value: Uint8Array): void {
  if (value.length > 0) present(writer, field, value)
}
function packed(writer: BinaryWriter, field: number, values: number[]): void {
  if (values.length === 0) return
  writer.tag(field, WireType.LengthDelimited).fork()
  for (const value of values) writer.int64(value)
  writer.join()
}

function read(bytes: Uint8Array, take: (...given: [...Parameters<Read>, WireType]) => boolean): void {
  const reader = new BinaryReader(bytes)
  try {
    while (reader.pos < reader.len) {
      const [field, wireType] = reader.tag()
      if (!take(field, reader, wireType)) reader.skip(wireType, field)
    }
    if (reader.pos > reader.len) throw new WireError('a message that was cut off')
  } catch (cause) {
    if (cause instanceof WireError) throw cause
    throw new WireError('a message that is malformed or was cut off', { cause })
  }
}

function readEntry<T>(
  bytes: Uint8Array,
  into: Record<string, T>,
  readValue: (reader: BinaryReader) => T,
  absent?: T,
): void {
  let key = ''
  let value = absent
  read(bytes, (field, reader) => {
    if (field === 1) key = reader.string()
    else if (field === 2) value = readValue(reader)
    else return false
    return true
  })
  if (value === undefined) throw new WireError(`an entry ${key} without a value`)
  Object.defineProperty(into, key, { value, enumerable: true, writable: true, configurable: true })
}

function readIntegers(reader: BinaryReader, wireType: WireType): number[] {
  if (wireType !== WireType.LengthDelimited) return [Number(reader.int64())]
  const end = reader.uint32() + reader.pos
  const values: number[] = []
  while (reader.pos < end) values.push(Number(reader.int64()))
  return values
}

function joined(chunks: Int32Array[]): Int32Array {
  if (chunks.length === 1) return chunks[0]!
  const all = new Int32Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0))
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}
