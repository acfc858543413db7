import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../test/support/folders.js'
import { readSafetensors } from '../../../test/support/safetensors.js'
import { CheckpointError, DataError, InvariantError } from '../../core/errors.js'
import { openSafetensors, type TensorToWrite, writeSafetensors } from './safetensors.js'

const some: TensorToWrite[] = [
  { name: 'a', shape: [2, 3], data: Float32Array.of(1, -2.5, 0, -0, 1e-40, 3e38) },
  { name: 'empty', shape: [0, 4], data: new Float32Array(0) },
  { name: 'scalar', shape: [], data: Float32Array.of(Number.NEGATIVE_INFINITY) },
  { name: 'b', shape: [5], data: Float32Array.of(Number.NaN, 1, 2, 3, 4) },
]

async function readAll(
  folder: string,
  base?: string,
): Promise<Record<string, [readonly number[], Float32Array]>> {
  const file = await openSafetensors(folder, base)
  try {
    const all: Record<string, [readonly number[], Float32Array]> = {}
    for (const name of file.names()) all[name] = [file.shape(name), await file.read(name)]
    return all
  } finally {
    await file.close()
  }
}

const asRead = (tensors: TensorToWrite[]) =>
  Object.fromEntries(tensors.map(({ name, shape, data }) => [name, [shape, data]]))

/** A file of the given header and data, as any program could have written it. */
function writeRaw(folder: string, header: unknown, data: Uint8Array, headerBytes?: number): string {
  const isText = typeof header === 'string' || header instanceof Uint8Array
  const text = Buffer.from(isText ? (header as string) : JSON.stringify(header))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(headerBytes ?? text.length))
  const path = join(folder, 'model.safetensors')
  writeFileSync(path, Buffer.concat([length, text, data]))
  return path
}

describe('writing and reading', () => {
  it('gives back the same bits in float32', async () => {
    const folder = temporaryFolder()
    await writeSafetensors(folder, some)
    expect(readdirSync(folder)).toEqual(['model.safetensors'])
    expect(await readAll(folder)).toEqual(asRead(some))
  })

  it('is read by an independent reader, header metadata included', async () => {
    const folder = temporaryFolder()
    await writeSafetensors(folder, some, { base: 'other', metadata: { format: 'pt', step: '7' } })
    const path = join(folder, 'other.safetensors')
    const found = readSafetensors(path)
    expect(
      Object.fromEntries([...found].map(([name, { shape, values }]) => [name, [shape, values]])),
    ).toEqual(asRead(some))
    const bytes = readFileSync(path)
    const header = bytes.subarray(8, 8 + bytes.readUInt32LE(0)).toString()
    expect(JSON.parse(header).__metadata__).toEqual({ format: 'pt', step: '7' })
    expect((8 + bytes.readUInt32LE(0)) % 8).toBe(0)
  })

  it('rounds to bfloat16, larger tensors in pieces', async () => {
    const folder = temporaryFolder()
    const size = 2 ** 20 + 3
    const data = Float32Array.from({ length: size }, (_, i) => i)
    await writeSafetensors(folder, [{ name: 'x', shape: [size], data }], { dtype: 'BF16' })
    const values = (await readAll(folder)).x![1]
    expect(values[255]).toBe(255)
    expect(values[257]).toBe(256)
    expect(values[259]).toBe(260)
    expect(values[size - 1]).toBe(2 ** 20)
  })

  it('asks for the values of a tensor only when their turn has come', async () => {
    const folder = temporaryFolder()
    const order: string[] = []
    const lazy = ['x', 'y'].map((name) => ({
      name,
      shape: [1],
      data: async () => {
        order.push(name)
        return Float32Array.of(order.length)
      },
    }))
    await writeSafetensors(folder, lazy)
    expect(order).toEqual(['x', 'y'])
    expect(await readAll(folder)).toEqual({ x: [[1], Float32Array.of(1)], y: [[1], Float32Array.of(2)] })
  })

  it('reads float16 and into the memory it is given', async () => {
    const folder = temporaryFolder()
    writeRaw(
      folder,
      { h: { dtype: 'F16', shape: [3], data_offsets: [0, 6] } },
      Uint8Array.of(0, 0x3c, 0xff, 0xfb, 1, 0),
    )
    const memory = new Float32Array(5).fill(9)
    const file = await openSafetensors(folder)
    await file.read('h', memory.subarray(1, 4))
    await expect(file.read('h', memory)).rejects.toThrow(InvariantError)
    await file.close()
    expect([...memory]).toEqual([9, 1, -65504, 2 ** -24, 9])
  })

  it('writes shards with an index, and takes the place of what was there', async () => {
    const folder = temporaryFolder()
    await writeSafetensors(folder, some, { maxShardBytes: 20 })
    expect(readdirSync(folder).sort()).toEqual([
      'model-00001-of-00003.safetensors',
      'model-00002-of-00003.safetensors',
      'model-00003-of-00003.safetensors',
      'model.safetensors.index.json',
    ])
    expect(await readAll(folder)).toEqual(asRead(some))
    expect(JSON.parse(readFileSync(join(folder, 'model.safetensors.index.json'), 'utf8'))).toMatchObject({
      metadata: { total_size: 48 },
      weight_map: { a: 'model-00001-of-00003.safetensors', b: 'model-00003-of-00003.safetensors' },
    })
    writeFileSync(join(folder, 'model_card.safetensors'), 'not ours')
    await writeSafetensors(folder, some.slice(0, 1))
    expect(readdirSync(folder).sort()).toEqual(['model.safetensors', 'model_card.safetensors'])
    await writeSafetensors(folder, some, { maxShardBytes: 40 })
    expect(readdirSync(folder)).not.toContain('model.safetensors')
    expect(await readAll(folder)).toEqual(asRead(some))
  })

  it('round-trips any set of tensors under any shard size', async () => {
    const folder = temporaryFolder()
    const tensor = fc.tuple(fc.string(), fc.float32Array({ maxLength: 9 }))
    const tensors = fc.uniqueArray(tensor, { selector: ([name]) => name, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(tensors, fc.integer({ min: 1, max: 100 }), async (drawn, maxShardBytes) => {
        fc.pre(drawn.every(([name]) => !['__metadata__', '__proto__'].includes(name)))
        const given = drawn.map(([name, data]) => ({ name, shape: [data.length], data }))
        await writeSafetensors(folder, given, { maxShardBytes })
        expect(await readAll(folder)).toEqual(asRead(given))
      }),
      { numRuns: 50 },
    )
  })
})

describe('writing that fails', () => {
  it.skipIf(!existsSync('/dev/full'))('says that the disk is full and leaves nothing behind', async () => {
    const folder = temporaryFolder()
    await writeSafetensors(folder, some)
    symlinkSync('/dev/full', join(folder, 'model.safetensors.partial'))
    const failed = writeSafetensors(folder, [{ name: 'a', shape: [1], data: Float32Array.of(5) }])
    await expect(failed).rejects.toThrow(CheckpointError)
    await expect(failed).rejects.toThrow(
      /^The disk is full: model\.safetensors could not be written to .*\.$/,
    )
    expect(readdirSync(folder)).toEqual(['model.safetensors'])
    expect(await readAll(folder)).toEqual(asRead(some))
  })

  it('passes on an error of the values and keeps the old file', async () => {
    const folder = temporaryFolder()
    await writeSafetensors(folder, some, { maxShardBytes: 20 })
    const before = readdirSync(folder)
    const bad = () => Promise.reject(new InvariantError('no values'))
    const failed = writeSafetensors(folder, [...some.slice(0, 2), { name: 'z', shape: [6], data: bad }], {
      maxShardBytes: 20,
    })
    await expect(failed).rejects.toThrow('no values')
    expect(readdirSync(folder)).toEqual(before)
    expect(await readAll(folder)).toEqual(asRead(some))
  })

  it('refuses wrong lengths, names given twice and a folder that is a file', async () => {
    const folder = temporaryFolder()
    const one = { name: 'a', shape: [2], data: new Float32Array(3) }
    await expect(writeSafetensors(folder, [one])).rejects.toThrow(InvariantError)
    await expect(writeSafetensors(folder, [some[0]!, some[0]!])).rejects.toThrow(InvariantError)
    writeFileSync(join(folder, 'file'), '')
    await expect(writeSafetensors(join(folder, 'file'), some)).rejects.toThrow(CheckpointError)
  })
})

describe('files that cannot be used', () => {
  const f32 = (begin: number, end: number) => ({
    dtype: 'F32',
    shape: [(end - begin) / 4],
    data_offsets: [begin, end],
  })
  const data = new Uint8Array(16)
  it.each<[string, unknown, RegExp]>([
    ['a header that is not JSON', '{"a":', /header that is not JSON/],
    ['a header that is not an object', [], /not a JSON object/],
    ['a header that is not UTF-8', Uint8Array.of(0x22, 0xff, 0x22), /not JSON/],
    ['an entry that is not an object', { a: 3 }, /"a"/],
    ['an unknown type', { a: { ...f32(0, 16), dtype: 'F31' } }, /type "F31"/],
    ['a type of a prototype', { a: { ...f32(0, 16), dtype: 'toString' } }, /type "toString"/],
    [
      'a shape of another size',
      { a: { ...f32(0, 16), shape: [5] } },
      /16 bytes where F32 of shape \[5\] takes 20/,
    ],
    ['a negative size', { a: { ...f32(0, 16), shape: [-4] } }, /shape/],
    ['an endless size', { a: { ...f32(0, 16), shape: [1e300, 1e300] } }, /shape/],
    ['offsets out of order', { a: { ...f32(0, 16), data_offsets: [16, 0] } }, /offsets/],
    ['overlapping tensors', { a: f32(0, 12), b: f32(8, 16) }, /overlaps before the data of "b"/],
    ['a gap', { a: f32(0, 8), b: f32(12, 16) }, /gap before the data of "b"/],
    ['a gap at the start', { a: f32(4, 16) }, /gap/],
    ['data that is not described', { a: f32(0, 8) }, /8 bytes after its last tensor/],
    ['data beyond the end', { a: f32(0, 20) }, /cut off: \d+ bytes of \d+/],
  ])('%s', async (_, header, message) => {
    const folder = temporaryFolder()
    writeRaw(folder, header, data)
    await expect(openSafetensors(folder)).rejects.toThrow(DataError)
    await expect(openSafetensors(folder)).rejects.toThrow(message)
  })

  it('a header longer than any file', async () => {
    const folder = temporaryFolder()
    writeRaw(folder, {}, data, 2 ** 40)
    await expect(openSafetensors(folder)).rejects.toThrow(/header length is impossible/)
    writeRaw(folder, {}, data, 5000)
    await expect(openSafetensors(folder)).rejects.toThrow(/ends within its header/)
    writeFileSync(join(folder, 'model.safetensors'), 'abc')
    await expect(openSafetensors(folder)).rejects.toThrow(/only 3 bytes/)
  })

  it('a git-lfs pointer', async () => {
    const folder = temporaryFolder()
    writeFileSync(
      join(folder, 'model.safetensors'),
      'version https://git-lfs.example/v1\noid sha256:0\nsize 9\n',
    )
    await expect(openSafetensors(folder)).rejects.toMatchObject({
      message: expect.stringContaining('git-lfs pointer'),
      hint: expect.stringContaining('git lfs pull'),
    })
  })

  it('integers, which are no weights', async () => {
    const folder = temporaryFolder()
    writeRaw(folder, { a: { dtype: 'I64', shape: [2], data_offsets: [0, 16] } }, data)
    const file = await openSafetensors(folder)
    await expect(file.read('a')).rejects.toThrow(/"a" .* stored as I64/)
    await expect(file.read('b')).rejects.toThrow(/no tensor "b"/)
    await file.close()
  })

  it('no weights at all, or a folder in their place', async () => {
    const folder = temporaryFolder()
    await expect(openSafetensors(folder)).rejects.toThrow(/neither model.safetensors nor/)
    await writeSafetensors(join(folder, 'model.safetensors'), some)
    await expect(openSafetensors(folder)).rejects.toThrow(DataError)
  })

  it('a shard that is missing, names no tensor, or lies elsewhere', async () => {
    const folder = temporaryFolder()
    await writeSafetensors(folder, some, { maxShardBytes: 20 })
    const index = join(folder, 'model.safetensors.index.json')
    const good = readFileSync(index, 'utf8')
    writeFileSync(index, good.replace('"a"', '"a2"'))
    await expect(openSafetensors(folder)).rejects.toThrow(/00001-of-00003.safetensors lacks "a2"/)
    writeFileSync(index, good.replace('"model-00001', '"../model-00001'))
    await expect(openSafetensors(folder)).rejects.toThrow(/not the name of a shard/)
    writeFileSync(index, '{}')
    await expect(openSafetensors(folder)).rejects.toThrow(/weight_map/)
    writeFileSync(index, good.slice(0, 50))
    await expect(openSafetensors(folder)).rejects.toThrow(/not valid JSON/)
    writeFileSync(index, good)
    rmSync(join(folder, 'model-00002-of-00003.safetensors'))
    await expect(openSafetensors(folder)).rejects.toMatchObject({
      message: expect.stringContaining('model-00002-of-00003.safetensors is missing'),
      hint: expect.stringContaining('download it again'),
    })
  })

  it('a file that shrinks while it is open', async () => {
    const folder = temporaryFolder()
    await writeSafetensors(folder, some)
    const file = await openSafetensors(folder)
    const path = join(folder, 'model.safetensors')
    truncateSync(path, readFileSync(path).length - 4)
    await expect(file.read('b')).rejects.toThrow(/ends within "b"/)
    await file.close()
  })

  it('damage of any kind is a DataError or harmless', async () => {
    const folder = temporaryFolder()
    await writeSafetensors(folder, some)
    const path = join(folder, 'model.safetensors')
    const whole = readFileSync(path)
    const damage = fc.record({
      keep: fc.integer({ min: 0, max: whole.length }),
      changes: fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 3 }),
      more: fc.uint8Array({ maxLength: 9 }),
    })
    let refused = 0
    await fc.assert(
      fc.asyncProperty(fc.boolean(), damage, async (cut, { keep, changes, more }) => {
        const bytes = Buffer.from(whole)
        for (const [at, value] of changes) bytes[at] = value
        writeFileSync(path, cut ? Buffer.concat([bytes.subarray(0, keep), more]) : bytes)
        await readAll(folder).catch((error) => {
          refused++
          expect(error).toBeInstanceOf(DataError)
        })
      }),
      { numRuns: 400 },
    )
    expect(refused).toBeGreaterThan(100)
  })
})
