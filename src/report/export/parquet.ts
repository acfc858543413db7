/** Metrics and rollouts as Parquet files, a row group at a time. The writer is loaded when it is first needed. */
import type { ColumnSource, ParquetWriter, SchemaElement } from 'hyparquet-writer'
import { stageFile } from '../../engine/hf/files.js'
import type { Rollout } from '../api/rollouts.js'
import { eachRollout, type Source } from './source.js'

/** Bytes of the lines whose rollouts make a row group; to write it takes some fifty times as much memory. */
const GROUP_BYTES = 2 ** 22

/** A row a round: `step`, and a column of doubles a metric; null where a round does not tell it, NaN where it was not finite. */
export async function writeMetricsParquet({ metrics }: Source, path: string): Promise<number> {
  const { names, rows } = metrics
  const column = (of: (row: number) => number | null) => Array.from({ length: rows }, (_, row) => of(row))
  const told = (name: string) => (row: number) => {
    const value = metrics.written(name, row)
    return value === undefined ? null : (value ?? Number.NaN)
  }
  const schema: SchemaElement[] = [
    { name: 'step', type: 'INT32', repetition_type: 'REQUIRED' },
    ...names.map((name) => ({ name, type: 'DOUBLE', repetition_type: 'OPTIONAL' }) as const),
  ]
  await writeParquet(path, schema, async (write) => {
    await write([
      { name: 'step', data: column((row) => metrics.round(row)) },
      ...names.map((name) => ({ name, data: column(told(name)) })),
    ])
  })
  return rows
}

interface RolloutColumn {
  name: string
  schema: SchemaElement[]
  value(rollout: Rollout): unknown
}

const plain = (
  name: string,
  type: 'INT32' | 'DOUBLE' | 'BOOLEAN' | 'BYTE_ARRAY',
  value: RolloutColumn['value'],
  converted?: 'UTF8' | 'JSON',
): RolloutColumn => ({
  name,
  schema: [{ name, type, repetition_type: 'OPTIONAL', ...(converted && { converted_type: converted }) }],
  value,
})

const list = (name: string, type: 'INT32' | 'FLOAT', value: RolloutColumn['value']): RolloutColumn => ({
  name,
  schema: [
    { name, repetition_type: 'OPTIONAL', num_children: 1, converted_type: 'LIST' },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { name: 'element', type, repetition_type: 'REQUIRED' },
  ],
  value,
})

const columns: RolloutColumn[] = [
  plain('round', 'INT32', (rollout) => rollout.round),
  plain('role', 'BYTE_ARRAY', (rollout) => rollout.role, 'UTF8'),
  plain('group', 'INT32', (rollout) => rollout.group),
  plain('index', 'INT32', (rollout) => rollout.index),
  plain('prompt', 'BYTE_ARRAY', (rollout) => rollout.prompt, 'UTF8'),
  plain('text', 'BYTE_ARRAY', (rollout) => rollout.text, 'UTF8'),
  plain('question', 'BYTE_ARRAY', questionOf, 'UTF8'),
  plain('outcome', 'BYTE_ARRAY', (rollout) => rollout.outcome, 'UTF8'),
  plain('reward', 'DOUBLE', (rollout) => rollout.reward),
  plain('advantage', 'DOUBLE', (rollout) => rollout.advantage),
  plain('pass_rate', 'DOUBLE', (rollout) => rollout.rate),
  plain('trained', 'BOOLEAN', (rollout) => rollout.trained),
  plain('stop', 'BYTE_ARRAY', (rollout) => rollout.stop, 'UTF8'),
  plain('tokens', 'INT32', (rollout) => rollout.tokens),
  plain('logprob', 'DOUBLE', (rollout) => rollout.logprob),
  plain('parts', 'BYTE_ARRAY', (rollout) => rollout.parts, 'JSON'),
  list('token_lengths', 'INT32', (rollout) => rollout.heat?.lengths),
  list('token_logprobs', 'FLOAT', (rollout) => rollout.heat?.logprobs),
]

/** In full; a row of a list has its beginning. */
function questionOf({ question, parts }: Rollout): unknown {
  return [parts.question, parts.problem].find((part) => typeof part === 'string') ?? question
}

/** A row a rollout, answers to held-out problems among them. Rows written. */
export async function writeRolloutsParquet(source: Source, path: string): Promise<number> {
  let rows = 0
  const schema = columns.flatMap((column) => column.schema)
  await writeParquet(path, schema, async (write) => {
    let group: unknown[][] = columns.map(() => [])
    let bytes = 0
    const flush = async () => {
      await write(
        columns.map(({ name, schema }, i) => ({ name, data: group[i]!, statistics: schema.length === 1 })),
      )
      group = columns.map(() => [])
      bytes = 0
    }
    for await (const { rollout, bytes: own } of eachRollout(source)) {
      for (const [i, { value }] of columns.entries()) group[i]!.push(value(rollout) ?? null)
      rows++
      bytes += own
      if (bytes >= GROUP_BYTES) await flush()
    }
    if (group[0]!.length > 0) await flush()
  })
  return rows
}

type WriteGroup = (columnData: ColumnSource[]) => Promise<void>

/** `produce` is given what writes a row group. */
async function writeParquet(
  path: string,
  columns: SchemaElement[],
  produce: (write: WriteGroup) => Promise<void>,
): Promise<void> {
  const { ByteWriter, ParquetWriter } = await import('hyparquet-writer')
  const children = columns.filter(({ name }) => name !== 'list' && name !== 'element').length
  const schema: SchemaElement[] = [{ name: 'schema', num_children: children }, ...columns]
  const file = await stageFile(path, async (write) => {
    const buffer = new ByteWriter()
    const flush = async () => {
      await write(buffer.getBytes())
      buffer.index = 0
    }
    const parquet: ParquetWriter = new ParquetWriter({ writer: buffer, schema, createdBy: 'sparring' })
    await produce(async (columnData) => {
      await parquet.write({ columnData, rowGroupSize: Math.max(1, columnData[0]!.data.length) })
      await flush()
    })
    await parquet.finish()
    await flush()
  })
  await file.publish()
}
