/**
 * The header of a safetensors file: 8 bytes with its length (little-endian), that many bytes of JSON
 * `{name: {dtype, shape, data_offsets: [begin, end]}}`, then the tensors' bytes, to which the offsets refer.
 */
import type { FileHandle } from 'node:fs/promises'
import { DataError } from '../../core/errors.js'
import { isObject, readFully } from './files.js'

/** Bytes an element takes, for the types of which the format's data can be checked. */
const elementBytes: Record<string, number> = {
  ...{ F64: 8, F32: 4, F16: 2, BF16: 2, F8_E4M3: 1, F8_E5M2: 1, F8_E8M0: 1, C64: 8 },
  ...{ I64: 8, I32: 4, I16: 2, I8: 1, U64: 8, U32: 4, U16: 2, U8: 1, BOOL: 1 },
}

/** Longest header that the format's own readers accept. */
const longestHeader = 100_000_000

export interface TensorEntry {
  dtype: string
  shape: number[]
  /** Position of the first byte in the file. */
  position: number
  bytes: number
}

/** Reads and checks the header of an open file. Throws DataError where the file is not whole and well-formed. */
export async function readHeader(
  file: FileHandle,
  path: string,
  fileBytes: number,
): Promise<Map<string, TensorEntry>> {
  const start = new Uint8Array(24)
  const got = await readFully(file, start, 0)
  if (Buffer.from(start).toString('latin1').startsWith('version https://git-lfs')) {
    throw new DataError(`${path} is a git-lfs pointer, not the weights.`, {
      hint: 'Run `git lfs pull` in that folder, or download the file itself.',
    })
  }
  if (got < 8) throw damaged(path, `has only ${got} bytes`)
  const length = new DataView(start.buffer).getBigUint64(0, true)
  if (length > longestHeader)
    throw damaged(path, 'is not a safetensors file: its header length is impossible')
  const headerBytes = Number(length)
  if (8 + headerBytes > fileBytes) throw damaged(path, 'ends within its header')
  const text = new Uint8Array(headerBytes)
  if ((await readFully(file, text, 8)) < headerBytes) throw damaged(path, 'ends within its header')

  const entries = parseHeader(path, text, 8 + headerBytes)
  let end = 8 + headerBytes
  for (const [name, entry] of [...entries].sort(
    (a, b) => a[1].position - b[1].position || a[1].bytes - b[1].bytes,
  )) {
    if (entry.position !== end) {
      throw damaged(
        path,
        `${entry.position < end ? 'overlaps' : 'leaves a gap'} before the data of "${name}"`,
      )
    }
    end += entry.bytes
  }
  if (end > fileBytes) throw damaged(path, `is cut off: ${fileBytes} bytes of ${end}`)
  if (end < fileBytes) throw damaged(path, `has ${fileBytes - end} bytes after its last tensor`)
  return entries
}

function parseHeader(path: string, text: Uint8Array, dataStart: number): Map<string, TensorEntry> {
  let json: unknown
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(text))
  } catch {
    throw damaged(path, 'has a header that is not JSON')
  }
  if (!isObject(json)) throw damaged(path, 'has a header that is not a JSON object')
  const entries = new Map<string, TensorEntry>()
  for (const [name, value] of Object.entries(json)) {
    if (name !== '__metadata__') entries.set(name, parseEntry(path, name, value, dataStart))
  }
  return entries
}

function parseEntry(path: string, name: string, value: unknown, dataStart: number): TensorEntry {
  if (!isObject(value)) throw damaged(path, `describes "${name}" by something other than an object`)
  const { dtype, shape, data_offsets: offsets } = value
  if (typeof dtype !== 'string' || !Object.hasOwn(elementBytes, dtype)) {
    throw new DataError(`${path} gives "${name}" the type ${JSON.stringify(dtype)}, which is not known.`, {
      hint: 'Convert the model to float32, float16 or bfloat16.',
    })
  }
  if (!isCounts(shape)) throw damaged(path, `gives "${name}" a shape that is not a list of sizes`)
  if (!isCounts(offsets) || offsets.length !== 2 || offsets[0]! > offsets[1]!) {
    throw damaged(path, `gives "${name}" offsets that are not two rising positions`)
  }
  const bytes = offsets[1]! - offsets[0]!
  const needed = elementCount(shape) * elementBytes[dtype]!
  if (bytes !== needed) {
    throw damaged(path, `gives "${name}" ${bytes} bytes where ${dtype} of shape [${shape}] takes ${needed}`)
  }
  return { dtype, shape, position: dataStart + offsets[0]!, bytes }
}

/** Header bytes for tensors laid one after the other, padded so that the data starts at a multiple of 8. */
export function buildHeader(
  tensors: readonly { name: string; shape: readonly number[] }[],
  dtype: 'F32' | 'BF16',
  metadata: Record<string, string>,
): Uint8Array {
  const json: Record<string, unknown> = { __metadata__: metadata }
  let begin = 0
  for (const { name, shape } of tensors) {
    const end = begin + elementCount(shape) * elementBytes[dtype]!
    json[name] = { dtype, shape, data_offsets: [begin, end] }
    begin = end
  }
  const text = Buffer.from(JSON.stringify(json))
  const header = Buffer.alloc(8 + Math.ceil(text.length / 8) * 8, ' ')
  header.writeBigUInt64LE(BigInt(header.length - 8))
  text.copy(header, 8)
  return header
}

export function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1)
}

function isCounts(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((item) => Number.isSafeInteger(item) && item >= 0)
}

export function damaged(path: string, what: string): DataError {
  return new DataError(`${path} ${what}.`, {
    hint: 'The file is damaged or only half downloaded: fetch it again.',
  })
}
