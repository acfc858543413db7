/**
 * Weights on disk: one `<base>.safetensors`, or shards with `<base>.safetensors.index.json`. Each tensor is read from
 * its place in the file straight into its array, so that no second copy of the weights ever exists. Bytes are
 * little-endian, as on every machine Node runs on.
 */
import { type FileHandle, lstat, open } from 'node:fs/promises'
import { join } from 'node:path'
import { DataError, InvariantError, messageOf, SparringError } from '../../core/errors.js'
import { errorCode, isObject, readFully, readJson } from './files.js'
import { widenBF16, widenF16 } from './half.js'
import { damaged, elementCount, readHeader, type TensorEntry } from './safetensors-header.js'

export { type TensorToWrite, type WriteOptions, writeSafetensors } from './safetensors-writer.js'

export interface TensorFile {
  /** The folder the tensors lie in. */
  readonly folder: string
  names(): string[]
  has(name: string): boolean
  /** Throws DataError where there is no such tensor. */
  shape(name: string): readonly number[]
  /** The values as float32, in `into` where given (its length must fit). Throws DataError. */
  read(name: string, into?: Float32Array): Promise<Float32Array>
  close(): Promise<void>
}

interface Shard {
  path: string
  file: FileHandle
  entries: Map<string, TensorEntry>
}

/** Opens `<base>.safetensors`, or the shards its index names, and checks every header. Throws DataError. */
export async function openSafetensors(folder: string, base = 'model'): Promise<TensorFile> {
  const shards: Shard[] = []
  try {
    const places = await locate(folder, base, shards)
    return tensorFile(folder, places, shards)
  } catch (error) {
    await closeAll(shards)
    throw error
  }
}

type Places = Map<string, { shard: Shard; entry: TensorEntry }>

/** Where each tensor lies; the shards opened on the way are added to `shards`. */
async function locate(folder: string, base: string, shards: Shard[]): Promise<Places> {
  const single = join(folder, `${base}.safetensors`)
  if (await exists(single)) {
    const shard = await openShard(single)
    shards.push(shard)
    return new Map([...shard.entries].map(([name, entry]) => [name, { shard, entry }]))
  }
  const indexPath = join(folder, `${base}.safetensors.index.json`)
  const index = await readJson(indexPath)
  if (index === undefined) {
    throw new DataError(`${folder} has neither ${base}.safetensors nor ${base}.safetensors.index.json.`, {
      hint: 'Give a model folder with weights in safetensors form.',
    })
  }
  const places: Places = new Map()
  const byName = new Map<string, Shard>()
  for (const [name, shardName] of weightMap(indexPath, index)) {
    let shard = byName.get(shardName)
    if (!shard) {
      shard = await openShard(join(folder, shardName))
      shards.push(shard)
      byName.set(shardName, shard)
    }
    const entry = shard.entries.get(name)
    if (!entry)
      throw damaged(shard.path, `lacks "${name}", which ${base}.safetensors.index.json places there`)
    places.set(name, { shard, entry })
  }
  return places
}

function weightMap(indexPath: string, index: Record<string, unknown>): [string, string][] {
  if (!isObject(index.weight_map)) throw damaged(indexPath, 'has no object "weight_map"')
  return Object.entries(index.weight_map).map(([name, shard]) => {
    if (typeof shard !== 'string' || !/^[^/\\]+\.safetensors$/.test(shard)) {
      throw damaged(
        indexPath,
        `places "${name}" in ${JSON.stringify(shard)}, which is not the name of a shard`,
      )
    }
    return [name, shard]
  })
}

async function openShard(path: string): Promise<Shard> {
  let file: FileHandle
  try {
    file = await open(path, 'r')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') {
      throw new DataError(`${path} is missing.`, {
        hint: 'The model is only half downloaded: download it again.',
      })
    }
    throw unreadable(path, error)
  }
  try {
    const { size } = await file.stat()
    return { path, file, entries: await readHeader(file, path, size) }
  } catch (error) {
    await file.close()
    throw unreadable(path, error)
  }
}

function tensorFile(folder: string, places: Places, shards: Shard[]): TensorFile {
  const place = (name: string) => {
    const found = places.get(name)
    if (!found) throw new DataError(`The weights in ${folder} have no tensor "${name}".`)
    return found
  }
  return {
    folder,
    names: () => [...places.keys()],
    has: (name) => places.has(name),
    shape: (name) => place(name).entry.shape,
    read: async (name, into) => {
      const { shard, entry } = place(name)
      const values = into ?? new Float32Array(elementCount(entry.shape))
      if (values.length !== elementCount(entry.shape)) {
        throw new InvariantError(`"${name}" of shape [${entry.shape}] was read into ${values.length} values.`)
      }
      await readValues(shard, name, entry, values).catch((error) => {
        throw unreadable(shard.path, error)
      })
      return values
    },
    close: () => closeAll(shards),
  }
}

async function readValues(shard: Shard, name: string, entry: TensorEntry, into: Float32Array): Promise<void> {
  const fill = async (bytes: Uint8Array) => {
    if ((await readFully(shard.file, bytes, entry.position)) < bytes.length) {
      throw damaged(shard.path, `ends within "${name}"`)
    }
  }
  if (entry.dtype === 'F32') return fill(new Uint8Array(into.buffer, into.byteOffset, into.byteLength))
  if (entry.dtype !== 'BF16' && entry.dtype !== 'F16') {
    throw new DataError(`"${name}" in ${shard.path} is stored as ${entry.dtype}.`, {
      hint: 'Use a checkpoint in float32, float16 or bfloat16; quantised ones cannot be trained.',
    })
  }
  const half = new Uint16Array(into.buffer, into.byteOffset + entry.bytes, into.length)
  await fill(new Uint8Array(half.buffer, half.byteOffset, half.byteLength))
  if (entry.dtype === 'BF16') widenBF16(half, into)
  else widenF16(half, into)
}

async function closeAll(shards: Shard[]): Promise<void> {
  for (const { file } of shards.splice(0)) await file.close()
}

/** A link to nothing counts as existing, so that opening it says what is missing. */
async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error) => errorCode(error) !== 'ENOENT',
  )
}

function unreadable(path: string, error: unknown): unknown {
  if (errorCode(error) === undefined || SparringError.isInstance(error)) return error
  return new DataError(`${path} cannot be read: ${messageOf(error)}.`, {
    hint: 'Check that it is a file and that you may read it.',
    cause: error,
  })
}
