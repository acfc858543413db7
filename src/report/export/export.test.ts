import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BigRun } from '../../../test/support/big-run.js'
import { temporaryFolder } from '../../../test/support/folders.js'
import { parquetColumns, readParquetRows } from '../../data/parquet.js'
import { writeCookbook } from './cookbook.js'
import { crc32c, maskedCrc32c } from './crc32c.js'
import { writeCsv } from './csv.js'
import { writeMetricsParquet, writeRolloutsParquet } from './parquet.js'
import { openSource } from './source.js'
import { writeTensorBoard } from './tensorboard.js'

type Json = Record<string, unknown>

const linesOf = (path: string): Json[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

/** A run of few rounds with what an export must not stumble over: a name with a comma, a number that is not finite, half a line. */
function awkwardRun() {
  const folder = join(temporaryFolder(), 'run')
  mkdirSync(join(folder, 'rollouts', 'round-000001'), { recursive: true })
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ game: 'pasodoble', rounds: 2, roles: {} }))
  const rates = { 'pass_rate/p0': 1, 'pass_rate/p1': 0, 'pass_rate/p2': 3 }
  const lines = [
    { step: 0, 'heldout/accuracy': 0.5, 'level/easy, "1"': 1 },
    { step: 1, 'solver/reward/mean': 1 / 3, 'solver/loss': null, ...rates, 'time/round_s': 2.5 },
    { step: 2, 'solver/reward/mean': 1e-9, 'time/round_s': 4 },
  ]
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  writeFileSync(join(folder, 'metrics.jsonl'), `${text}{"step":3,"solver/rew`)
  const record = {
    role: 'solver',
    group: 0,
    index: 0,
    prompt: 'Add "1", 2\n',
    text: `\u0000</script>\u202e${'x'.repeat(30_000)}`,
    tokens: 2,
    stop: 'eos',
    logprob: -0.25,
    token_lengths: [1, 0],
    token_logprobs: [-0.5, 0],
    reward: 0.5,
    parts: { question: 'long '.repeat(100), verdict: 'equal', right: true, nothing: null },
    advantage: -1.5,
    trained: true,
  }
  const heldout = {
    problem: '1+1',
    answer: '2',
    sample: 3,
    text: '2',
    right: true,
    reason: 'equal',
    sampling: 'greedy',
  }
  writeFileSync(join(folder, 'rollouts/round-000001/solver.jsonl'), `${JSON.stringify(record)}\nbroken\n`)
  writeFileSync(join(folder, 'rollouts/round-000001/heldout.jsonl'), `${JSON.stringify(heldout)}\n`)
  mkdirSync(join(folder, 'rollouts', 'round-000003'))
  writeFileSync(join(folder, 'rollouts/round-000003/solver.jsonl'), `${JSON.stringify(record)}\n`)
  return { folder, lines, record, heldout, beside: dirname(folder) }
}

function bigRun(rounds: number) {
  const folder = join(temporaryFolder(), 'run')
  BigRun.write(folder, { rounds, every: 5 })
  return folder
}

async function rowsOf(path: string): Promise<Json[]> {
  const rows: Json[] = []
  for await (const row of readParquetRows(path, await parquetColumns(path))) rows.push(row)
  return rows
}

describe('CSV', () => {
  it('has a row a round and a column a metric, empty where a round does not tell it', async () => {
    const { folder, beside } = awkwardRun()
    const file = join(beside, 'metrics.csv')
    expect(await writeCsv(await openSource(folder), file)).toBe(3)
    const rows = parse(readFileSync(file), { columns: true }) as Record<string, string>[]
    expect(rows).toEqual([
      expect.objectContaining({
        step: '0',
        'heldout/accuracy': '0.5',
        'level/easy, "1"': '1',
        'solver/loss': '',
      }),
      expect.objectContaining({ step: '1', 'heldout/accuracy': '', 'solver/loss': 'NaN' }),
      expect.objectContaining({ step: '2', 'solver/reward/mean': '1e-9', 'pass_rate/p0': '' }),
    ])
    expect(Number(rows[1]!['solver/reward/mean'])).toBe(1 / 3)
    expect(readdirSync(beside).sort()).toEqual(['metrics.csv', 'run'])
  })
})

describe('Parquet', () => {
  it('holds every metric to the bit, null where a round does not tell it', async () => {
    const folder = bigRun(12)
    const file = `${folder}.parquet`
    await writeMetricsParquet(await openSource(folder), file)
    const lines = linesOf(join(folder, 'metrics.jsonl'))
    const names = [...new Set(lines.flatMap((line) => Object.keys(line)))]
    const absent = Object.fromEntries(names.map((name) => [name, null]))
    expect(await rowsOf(file)).toEqual(lines.map((line) => ({ ...absent, ...line })))
  })

  it('holds every rollout whole, in the order of rounds and roles', async () => {
    const folder = bigRun(3)
    const file = `${folder}.parquet`
    const count = await writeRolloutsParquet(await openSource(folder), file)
    const written = [1, 2, 3].flatMap((round) =>
      ['proposer', 'solver'].flatMap((role) =>
        linesOf(join(folder, `rollouts/round-00000${round}/${role}.jsonl`)).map((line) => ({
          round,
          ...line,
        })),
      ),
    )
    const rows = await rowsOf(file)
    expect(count).toBe(written.length)
    const compared = [
      'round',
      'role',
      'group',
      'index',
      'prompt',
      'text',
      'reward',
      'advantage',
      'trained',
      'parts',
    ]
    const some = (row: Json) => Object.fromEntries(compared.map((name) => [name, row[name]]))
    expect(rows.map(some)).toEqual(written.map(some))
  })

  it('passes over what is damaged, and over rounds that are still being written', async () => {
    const { folder, beside, record, heldout } = awkwardRun()
    const file = join(beside, 'rollouts.parquet')
    expect(await writeRolloutsParquet(await openSource(folder), file)).toBe(2)
    const [answer, rollout] = await rowsOf(file)
    expect(rollout).toMatchObject({
      text: record.text,
      question: record.parts.question,
      outcome: 'equal',
      parts: record.parts,
      token_lengths: [1, 0],
      token_logprobs: [-0.5, 0],
    })
    const { problem, answer: gold } = heldout
    expect(answer).toMatchObject({
      role: 'heldout',
      index: 3,
      reward: 1,
      trained: null,
      token_logprobs: null,
    })
    expect(answer!.parts).toMatchObject({ problem, answer: gold, sampling: 'greedy' })
  })
})

/** Fields of a protobuf message by number; those that come more than once as they come. */
function fieldsOf(bytes: Uint8Array): [field: number, value: unknown][] {
  const reader = new BinaryReader(bytes)
  const fields: [number, unknown][] = []
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag()
    if (wire === WireType.Varint) fields.push([field, Number(reader.int64())])
    else if (wire === WireType.Bit64) fields.push([field, reader.double()])
    else if (wire === WireType.Bit32) fields.push([field, reader.float()])
    else fields.push([field, reader.bytes()])
  }
  return fields
}

const only = (fields: [number, unknown][], field: number) => fields.find(([each]) => each === field)?.[1]
const textOf = (value: unknown) => Buffer.from(value as Uint8Array).toString()
const doublesOf = (value: unknown) => {
  const reader = new BinaryReader(value as Uint8Array)
  const doubles: number[] = []
  while (reader.pos < reader.len) doubles.push(reader.double())
  return doubles
}

/** The events of an event file; throws where a sum is wrong. */
function eventsOf(bytes: Buffer) {
  const events: [number, unknown][][] = []
  for (let at = 0; at < bytes.length; ) {
    const length = Number(bytes.readBigUInt64LE(at))
    const data = bytes.subarray(at + 12, at + 12 + length)
    expect(bytes.readUInt32LE(at + 8)).toBe(maskedCrc32c(bytes.subarray(at, at + 8)))
    expect(bytes.readUInt32LE(at + 12 + length)).toBe(maskedCrc32c(data))
    events.push(fieldsOf(data))
    at += length + 16
  }
  return events
}

describe('TensorBoard', () => {
  it('is given every metric of a round as a scalar, and pass rates as a histogram', async () => {
    const { folder, beside, lines } = awkwardRun()
    await writeTensorBoard(await openSource(folder), join(beside, 'tb', 'new'))
    await writeTensorBoard(await openSource(folder), join(beside, 'tb', 'new'))
    const files = readdirSync(join(beside, 'tb', 'new'))
    expect(files).toEqual(['events.out.tfevents.sparring'])
    const [first, ...events] = eventsOf(readFileSync(join(beside, 'tb', 'new', files[0]!)))
    expect(textOf(only(first!, 3))).toBe('brain.Event:2')
    expect(events.map((event) => only(event, 2))).toEqual([0, 1, 2])
    const times = events.map((event) => Number(only(event, 1)))
    expect(times.map((time) => Number((times[2]! - time).toFixed(3)))).toEqual([6.5, 4, 0])

    const values = events.map((event) =>
      fieldsOf(only(event, 5) as Uint8Array).map(([, value]) => fieldsOf(value as Uint8Array)),
    )
    const scalars = values.map((all) =>
      Object.fromEntries(
        all.flatMap((value) => (only(value, 5) ? [] : [[textOf(only(value, 1)), only(value, 2)]])),
      ),
    )
    const expected = lines.map(({ step: _, ...metrics }) =>
      Object.fromEntries(
        Object.entries(metrics).map(([name, value]) => [name, Math.fround(value ?? Number.NaN)]),
      ),
    )
    expect(scalars).toEqual(expected)

    const histograms = values.map((all) => all.filter((value) => only(value, 5)))
    expect(histograms.map((all) => all.length)).toEqual([0, 1, 0])
    const [histogram] = histograms[1]!
    expect(textOf(only(histogram!, 1))).toBe('pass_rate')
    const fields = fieldsOf(only(histogram!, 5) as Uint8Array)
    expect([1, 2, 3, 4, 5].map((field) => only(fields, field))).toEqual([-0.25, 1.25, 4, 3, 3])
    expect(doublesOf(only(fields, 6))).toEqual([0.25, 0.75, 1.25])
    expect(doublesOf(only(fields, 7))).toEqual([1, 0, 3])
  })

  it('is given sums as RFC 3720, appendix B.4, has them', () => {
    const ascending = Uint8Array.from({ length: 32 }, (_, i) => i)
    expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa)
    expect(crc32c(new Uint8Array(32).fill(0xff))).toBe(0x62a8ab43)
    expect(crc32c(ascending)).toBe(0x46dd794e)
    expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283)
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1 }),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (bytes, at, change) => {
          const changed = bytes.slice()
          changed[at % bytes.length]! ^= change
          expect(crc32c(changed)).not.toBe(crc32c(bytes))
        },
      ),
    )
  })
})

describe('the layout of tinker-cookbook', () => {
  it('has rollouts by group and place, each group of one role', async () => {
    const folder = bigRun(2)
    writeFileSync(
      join(folder, 'checkpoints.jsonl'),
      '{"name":"000000","batch":0}\n{"name":"000002","batch":2}\n',
    )
    const to = `${folder}-cookbook`
    await writeCookbook(await openSource(folder), to)
    expect(JSON.parse(readFileSync(join(to, 'config.json'), 'utf8'))).toMatchObject({
      model_name: 'models/tiny',
      loss_fn: 'pasodoble',
    })
    expect(linesOf(join(to, 'checkpoints.jsonl')).map(({ final }) => final)).toEqual([undefined, true])
    const metrics = linesOf(join(to, 'metrics.jsonl'))
    expect(metrics.map((line) => [line.step, line['progress/done_frac']])).toEqual([
      [0, 0],
      [1, 0.5],
      [2, 1],
    ])
    const own = linesOf(join(folder, 'metrics.jsonl'))
    expect(metrics.map(({ 'progress/batch': _, 'progress/done_frac': __, ...line }) => line)).toEqual(own)

    const rows = linesOf(join(to, 'iteration_000002/train_rollout_summaries.jsonl'))
    const records = ['proposer', 'solver'].flatMap((role) =>
      linesOf(join(folder, `rollouts/round-000002/${role}.jsonl`)),
    )
    const firstStep = (row: Json) => (row.steps as Json[])[0]!
    expect(rows.map((row) => [...(row.tags as string[]), row.total_reward, firstStep(row).ac_len])).toEqual(
      records.map(({ role, reward, tokens }) => [role, reward, tokens]),
    )
    expect((firstStep(rows[0]!).logs as Json).text).toBe(records[0]!.text)
    const places = rows.map((row) => `${row.group_idx} ${row.traj_idx}`)
    expect(new Set(places).size).toBe(rows.length)
    const groups = new Set(rows.map((row) => row.group_idx))
    expect(groups.size).toBe(new Set(records.map(({ role, group }) => `${role} ${group}`)).size)
  })

  it('has the answers to yardsticks apart', async () => {
    const { folder, beside } = awkwardRun()
    await writeCookbook(await openSource(folder), join(beside, 'to'))
    expect(readdirSync(join(beside, 'to', 'iteration_000001')).sort()).toEqual([
      'eval_heldout_rollout_summaries.jsonl',
      'train_rollout_summaries.jsonl',
    ])
  })
})
