/**
 * Metrics as a TensorBoard event file: TFRecords that each hold an Event message (event.proto, summary.proto), one a round. Every
 * metric is a scalar; the counts `pass_rate/pK` of a round are a histogram as well.
 */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { makeFolders } from '../../core/folders.js'
import { asWriteError, stageFile } from '../../engine/hf/files.js'
import type { MetricsIndex } from '../reader/metrics.js'
import { maskedCrc32c } from './crc32c.js'
import type { Source } from './source.js'

/** TensorBoard reads every file of a folder whose name holds `tfevents`; with one name, a later export takes the place of this one. */
const FILE = 'events.out.tfevents.sparring'

/** Writes an event file into a folder, which is made. Rounds written. */
export async function writeTensorBoard({ root, metrics }: Source, folder: string): Promise<number> {
  await makeFolders(folder).catch((error) => {
    throw asWriteError(folder, error)
  })
  const times = await wallTimes(root, metrics)
  const file = await stageFile(join(folder, FILE), async (write) => {
    await write(framed(event(times[0]!, (writer) => text(writer, 3, 'brain.Event:2'))))
    for (let row = 0; row < metrics.rows; row++) {
      const bytes = event(times[row]!, (writer) => {
        writer.tag(2, WireType.Varint).int64(metrics.round(row))
        message(writer, 5, (summary) => writeSummary(summary, metrics, row))
      })
      await write(framed(bytes))
    }
  })
  await file.publish()
  return metrics.rows
}

/**
 * Seconds since 1970 of each row. A run writes down no clock times: the last row is dated by the file, and those before it by
 * the seconds that rounds took.
 */
async function wallTimes(root: string, metrics: MetricsIndex): Promise<Float64Array> {
  const times = new Float64Array(metrics.rows)
  let time = (await stat(join(root, 'metrics.jsonl'))).mtimeMs / 1000
  for (let row = metrics.rows - 1; row >= 0; row--) {
    times[row] = time
    time -= metrics.written('time/round_s', row) ?? 0
  }
  return times
}

type Write = (writer: BinaryWriter) => void

function event(wallTime: number, write: Write): Uint8Array {
  const writer = new BinaryWriter()
  double(writer, 1, wallTime)
  write(writer)
  return writer.finish()
}

function writeSummary(summary: BinaryWriter, metrics: MetricsIndex, row: number): void {
  for (const name of metrics.names) {
    const value = metrics.written(name, row)
    if (value === undefined) continue
    message(summary, 1, (scalar) => {
      text(scalar, 1, name)
      scalar.tag(2, WireType.Bit32).float(value ?? Number.NaN)
    })
  }
  const counts = passRates(metrics, row)
  if (counts.length < 2) return
  message(summary, 1, (value) => {
    text(value, 1, 'pass_rate')
    message(value, 5, (histogram) => writeHistogram(histogram, counts))
  })
}

/** Questions with 0, 1, ... of their answers right. */
function passRates(metrics: MetricsIndex, row: number): number[] {
  const counts: number[] = []
  for (let k = 0; ; k++) {
    const count = metrics.written(`pass_rate/p${k}`, row)
    if (typeof count !== 'number') return counts
    counts.push(count)
  }
}

/** HistogramProto; a bar stands around each rate that there can be. */
function writeHistogram(histogram: BinaryWriter, counts: readonly number[]): void {
  const answers = counts.length - 1
  const sum = (of: (rate: number) => number) =>
    counts.reduce((total, count, k) => total + count * of(k / answers), 0)
  double(histogram, 1, -0.5 / answers)
  double(histogram, 2, 1 + 0.5 / answers)
  double(
    histogram,
    3,
    sum(() => 1),
  )
  double(
    histogram,
    4,
    sum((rate) => rate),
  )
  double(
    histogram,
    5,
    sum((rate) => rate ** 2),
  )
  packed(
    histogram,
    6,
    counts.map((_, k) => (k + 0.5) / answers),
  )
  packed(histogram, 7, counts)
}

function message(writer: BinaryWriter, field: number, write: Write): void {
  writer.tag(field, WireType.LengthDelimited).fork()
  write(writer)
  writer.join()
}

function text(writer: BinaryWriter, field: number, value: string): void {
  writer.tag(field, WireType.LengthDelimited).string(value)
}

function double(writer: BinaryWriter, field: number, value: number): void {
  writer.tag(field, WireType.Bit64).double(value)
}

function packed(writer: BinaryWriter, field: number, values: readonly number[]): void {
  message(writer, field, (list) => {
    for (const value of values) list.double(value)
  })
}

/** A TFRecord: length, sum of the length, data, sum of the data; numbers little endian. */
function framed(data: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(data.length + 16)
  const view = new DataView(bytes.buffer)
  view.setBigUint64(0, BigInt(data.length), true)
  view.setUint32(8, maskedCrc32c(bytes.subarray(0, 8)), true)
  bytes.set(data, 12)
  view.setUint32(12 + data.length, maskedCrc32c(data), true)
  return bytes
}
