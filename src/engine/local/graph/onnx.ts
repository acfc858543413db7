/** Writes a program as an ONNX model (onnx.proto, IR version 8): the few message fields that operators need. */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { Node, Program, Value } from './graph.js'

const irVersion = 8
const opset = 17
const elementType = { f32: 1, i32: 6, i64: 7 } as const

type Write = (writer: BinaryWriter) => void

const message = (writer: BinaryWriter, field: number, write: Write) => {
  writer.tag(field, WireType.LengthDelimited).fork()
  write(writer)
  writer.join()
}
const text = (writer: BinaryWriter, field: number, value: string) =>
  writer.tag(field, WireType.LengthDelimited).string(value)
const integer = (writer: BinaryWriter, field: number, value: number) =>
  writer.tag(field, WireType.Varint).int64(value)
const float = (writer: BinaryWriter, field: number, value: number) =>
  writer.tag(field, WireType.Bit32).float(value)

export function encodeModel(program: Program): Uint8Array {
  const writer = new BinaryWriter()
  integer(writer, 1, irVersion)
  message(writer, 7, (graph) => {
    for (const node of program.nodes) message(graph, 1, (w) => writeNode(w, node))
    text(graph, 2, program.name)
    for (const value of constantsOf(program)) message(graph, 5, (w) => writeConstant(w, value))
    for (const value of program.inputs) message(graph, 11, (w) => writeValueInfo(w, value))
    for (const value of program.outputs) message(graph, 12, (w) => writeValueInfo(w, value))
  })
  for (const [domain, version] of [
    ['', opset],
    ['com.microsoft', 1],
  ] as const)
    message(writer, 8, (w) => {
      text(w, 1, domain)
      integer(w, 2, version)
    })
  return writer.finish()
}

function constantsOf(program: Program): Set<Value> {
  const constants = new Set<Value>()
  for (const node of program.nodes) for (const input of node.inputs) if (input?.constant) constants.add(input)
  return constants
}

function writeNode(writer: BinaryWriter, node: Node): void {
  for (const input of node.inputs) text(writer, 1, input?.name ?? '')
  for (const output of node.outputs) text(writer, 2, output.name)
  text(writer, 4, node.op)
  for (const [name, value] of Object.entries(node.attributes))
    message(writer, 5, (w) => {
      text(w, 1, name)
      if (typeof value === 'number') {
        integer(w, 3, value)
        integer(w, 20, 2)
      } else if (typeof value === 'string') {
        text(w, 4, value)
        integer(w, 20, 3)
      } else if (Array.isArray(value)) {
        for (const item of value) integer(w, 8, item)
        integer(w, 20, 7)
      } else {
        float(w, 2, value.float)
        integer(w, 20, 1)
      }
    })
  if (node.domain) text(writer, 7, node.domain)
}

function writeConstant(writer: BinaryWriter, value: Value): void {
  const data = value.constant!
  for (const dim of value.shape) integer(writer, 1, dim as number)
  integer(writer, 2, elementType[value.dtype])
  text(writer, 8, value.name)
  writer.tag(9, WireType.LengthDelimited).bytes(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
}

function writeValueInfo(writer: BinaryWriter, value: Value): void {
  text(writer, 1, value.name)
  message(writer, 2, (type) =>
    message(type, 1, (tensor) => {
      integer(tensor, 1, elementType[value.dtype])
      message(tensor, 2, (shape) => {
        for (const dim of value.shape)
          message(shape, 1, (w) => (typeof dim === 'number' ? integer(w, 1, dim) : text(w, 2, dim)))
      })
    }),
  )
}
