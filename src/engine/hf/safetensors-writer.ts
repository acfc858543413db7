/** Writes weights one tensor at a time: large models in shards, every file whole or not at all. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { InvariantError } from '../../core/errors.js'
import { makeFolders, syncFolder } from '../../core/folders.js'
import { asWriteError, type StagedFile, stageFile, type Write } from './files.js'
import { narrowBF16 } from './half.js'
import { buildHeader, elementCount } from './safetensors-header.js'

export interface TensorToWrite {
  name: string
  shape: readonly number[]
  /** The values, or a function that makes them when their turn to be written has come. */
  data: Float32Array | (() => Float32Array | Promise<Float32Array>)
}

export interface WriteOptions {
  dtype?: 'F32' | 'BF16'
  /** Tensor bytes above which a further shard begins. @default 4e9 */
  maxShardBytes?: number
  base?: string
  /** Strings for the header. @default {format: 'pt'}, which transformers asks for */
  metadata?: Record<string, string>
}

/**
 * Writes `<base>.safetensors`, or shards and their index, in place of what the folder held under that base. Every file
 * is complete on disk before any gets its name; a crash among the renames can leave new files beside old ones, so a
 * checkpoint that must survive one goes to a fresh folder. Throws CheckpointError.
 */
export async function writeSafetensors(
  folder: string,
  tensors: Iterable<TensorToWrite>,
  options: WriteOptions = {},
): Promise<void> {
  const { dtype = 'F32', maxShardBytes = 4e9, base = 'model', metadata = { format: 'pt' } } = options
  await makeFolders(folder).catch((error) => Promise.reject(asWriteError(folder, error)))
  const width = dtype === 'F32' ? 4 : 2
  const groups = splitIntoShards([...tensors], (tensor) => elementCount(tensor.shape) * width, maxShardBytes)
  const names = shardNames(base, groups.length)
  const files = new Map<string, (write: Write) => Promise<void>>()
  for (const [i, group] of groups.entries()) {
    const header = buildHeader(group, dtype, metadata)
    files.set(names[i]!, (write) => writeTensors(group, header, dtype, write))
  }
  if (groups.length > 1) {
    const index = buildIndex(groups, names, width)
    files.set(`${base}.safetensors.index.json`, (write) => write(Buffer.from(index)))
  }

  const staged: StagedFile[] = []
  try {
    for (const [name, produce] of files) staged.push(await stageFile(join(folder, name), produce))
    for (const file of staged) await file.publish()
  } catch (error) {
    for (const file of staged) await file.discard()
    throw error
  }
  await removeStale(folder, base, files)
}

function shardNames(base: string, count: number): string[] {
  if (count === 1) return [`${base}.safetensors`]
  const number = (i: number) => String(i).padStart(5, '0')
  return Array.from({ length: count }, (_, i) => `${base}-${number(i + 1)}-of-${number(count)}.safetensors`)
}

function buildIndex(groups: TensorToWrite[][], names: string[], width: number): string {
  const weightMap = Object.fromEntries(
    groups.flatMap((group, i) => group.map(({ name }) => [name, names[i]])),
  )
  const totalSize = groups.flat().reduce((sum, { shape }) => sum + elementCount(shape) * width, 0)
  return `${JSON.stringify({ metadata: { total_size: totalSize }, weight_map: weightMap }, null, 2)}\n`
}

function splitIntoShards(
  tensors: TensorToWrite[],
  bytesOf: (tensor: TensorToWrite) => number,
  maxBytes: number,
): TensorToWrite[][] {
  if (new Set(tensors.map(({ name }) => name)).size < tensors.length) {
    throw new InvariantError('Two tensors to be written have the same name.')
  }
  const groups: TensorToWrite[][] = [[]]
  let bytes = 0
  for (const tensor of tensors) {
    if (bytes > 0 && bytes + bytesOf(tensor) > maxBytes) {
      groups.push([])
      bytes = 0
    }
    groups.at(-1)!.push(tensor)
    bytes += bytesOf(tensor)
  }
  return groups
}

/** Values converted and written at a time. */
const pieceValues = 2 ** 20

async function writeTensors(group: TensorToWrite[], header: Uint8Array, dtype: 'F32' | 'BF16', write: Write) {
  await write(header)
  const half = new Uint16Array(dtype === 'BF16' ? pieceValues : 0)
  for (const { name, shape, data } of group) {
    const values = typeof data === 'function' ? await data() : data
    if (values.length !== elementCount(shape)) {
      throw new InvariantError(
        `"${name}" of shape [${shape}] was to be written from ${values.length} values.`,
      )
    }
    if (dtype === 'F32') {
      await write(new Uint8Array(values.buffer, values.byteOffset, values.byteLength))
      continue
    }
    for (let start = 0; start < values.length; start += pieceValues) {
      const piece = values.subarray(start, start + pieceValues)
      narrowBF16(piece, half)
      await write(new Uint8Array(half.buffer, 0, piece.length * 2))
    }
  }
}

/** Files an earlier write left under the same base, which readers would otherwise mix with the new ones. */
async function removeStale(folder: string, base: string, keep: ReadonlyMap<string, unknown>): Promise<void> {
  const ours = (name: string) =>
    name.startsWith(base) &&
    /^(-\d{5}-of-\d{5})?\.safetensors(\.index\.json)?(\.partial)?$/.test(name.slice(base.length))
  for (const name of await readdir(folder)) {
    if (ours(name) && !keep.has(name)) await rm(join(folder, name))
  }
  await syncFolder(folder)
}
