/** Rollouts by filter and order, a page at a time. */
import type { Coverage, RolloutRow, RolloutsAnswer, RolloutsQuery } from '../api/rollouts.js'
import type { Block, Dictionaries } from './block.js'
import { eachLine, parseObject } from './lines.js'
import { questionOf, type RawRecord, rowOf, textOf } from './record.js'
import type { File, RolloutStore } from './store.js'

const LIMIT = 50
export const MOST_ROWS = 200

/** Seconds to wait for rounds that are not read yet: rows are to be seen at once, and the next page finds more. */
const WAIT = 0.05

/** Seconds to look for a text. */
const SEARCH = 0.5

type Test = (block: Block, row: number) => boolean

export async function listRollouts(store: RolloutStore, query: RolloutsQuery): Promise<RolloutsAnswer> {
  const start = readCursor(query.cursor, store.rounds.at(-1) ?? 0)
  const rounds = store.within(query.from, Math.min(query.to ?? start.to, start.to))
  if (query.order === 'old') rounds.reverse()
  const limit = Math.min(MOST_ROWS, Math.max(1, query.limit ?? LIMIT))
  if (rounds[0] !== undefined) await store.roles(rounds[0])
  const common = () => ({
    roles: store.knownRoles(),
    outcomes: store.dictionaries.outcomes.words.filter((word) => word !== null),
  })
  if (query.text) {
    const found = await search(store, rounds, query, { ...start, limit })
    return { ...found, total: null, ...common() }
  }
  const coverage = await store.read(rounds, query.role, WAIT)
  const found = select([...store.files(rounds, query.role)], query, store.dictionaries)
  const page = found.slice(start.at, start.at + limit)
  const rows = await rowsOf(store, page)
  const next = start.at + limit
  const cursor = next < found.length ? `${start.to}.${next}` : null
  return { rows, total: found.length, cursor, coverage, ...common() }
}

/** `at` counts rows of the ordered list, or, where a text is looked for, rounds; lists end with the round `to` throughout. */
interface Start {
  to: number
  at: number
}

export function isCursor(text: string): boolean {
  return /^\d+\.\d+$/.test(text)
}

function readCursor(cursor: string | undefined, last: number): Start {
  const [to, at] = (cursor ?? '').split('.').map(Number)
  return Number.isInteger(to) && Number.isInteger(at) ? { to: to!, at: at! } : { to: last, at: 0 }
}

type Found = { file: File; row: number }

/** Everything that passes, in order; the caller takes a page of it. */
function select(files: readonly File[], query: RolloutsQuery, words: Dictionaries) {
  const tests = testsOf(query, words)
  let room = 1024
  let fileOf = new Uint32Array(room)
  let rowOf = new Uint32Array(room)
  let length = 0
  files.forEach(({ block }, f) => {
    for (let row = 0; row < block.rows; row++) {
      if (!tests.every((test) => test(block, row))) continue
      if (length === room) {
        room *= 2
        fileOf = larger(fileOf, room)
        rowOf = larger(rowOf, room)
      }
      fileOf[length] = f
      rowOf[length++] = row
    }
  })
  const at = (i: number): Found => ({ file: files[fileOf[i]!]!, row: rowOf[i]! })
  const key = keyOf(query)
  return {
    length,
    slice(from: number, to: number): Found[] {
      const end = Math.min(to, length)
      if (from >= end) return []
      if (key === undefined) return Array.from({ length: end - from }, (_, i) => at(from + i))
      const keys = new Float64Array(length)
      for (let i = 0; i < length; i++) {
        const value = key(files[fileOf[i]!]!, rowOf[i]!)
        keys[i] = Number.isNaN(value) ? Number.NEGATIVE_INFINITY : value
      }
      return best(keys, end).slice(from).map(at)
    },
  }
}

/** Indices of the n largest keys, largest first and earlier ones first among equals, without sorting all of them. */
export function best(keys: Float64Array, n: number): number[] {
  if (n === 0) return []
  const least = keys.slice().sort()[keys.length - n]!
  const above: number[] = []
  const equal: number[] = []
  for (let i = 0; i < keys.length; i++) {
    if (keys[i]! > least) above.push(i)
    else if (keys[i] === least && equal.length < n) equal.push(i)
  }
  return [...above, ...equal].slice(0, n).sort((a, b) => keys[b]! - keys[a]! || a - b)
}

function keyOf({ order, seed = 0 }: RolloutsQuery): ((file: File, row: number) => number) | undefined {
  if (order === 'best') return ({ block }, row) => block.number(row, 'reward')
  if (order === 'worst') return ({ block }, row) => -block.number(row, 'reward')
  if (order === 'random') {
    return ({ round, role, block }, row) =>
      scatter(scatter(seed, round), scatter(role.length, block.line(row)))
  }
  return undefined
}

/** Two numbers as one that looks drawn, 0 .. 2^32 - 1 (the finalizer of MurmurHash3). */
function scatter(a: number, b: number): number {
  let hash = Math.imul(a ^ 0x9e3779b9, 0x85ebca6b) ^ b
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

function testsOf(query: RolloutsQuery, { outcomes, stops }: Dictionaries): Test[] {
  const { reward, rate, advantage, tokens, trained, outcome, stop } = query
  const numbers = { reward, rate, advantage }
  const tests: Test[] = Object.entries(numbers).flatMap(([name, range]) => {
    if (!range) return []
    // Rows hold numbers of 32 bits.
    const [low, high] = range.map(Math.fround) as [number, number]
    return (block: Block, row: number) => {
      const value = block.number(row, name as keyof typeof numbers)
      return value >= low && value < high
    }
  })
  if (tokens) tests.push((block, row) => block.tokens(row) >= tokens[0] && block.tokens(row) < tokens[1])
  if (trained !== undefined) tests.push((block, row) => block.trained(row) === trained)
  if (outcome !== undefined) {
    const number = outcomes.find(outcome)
    tests.push((block, row) => block.outcome(row) === number)
  }
  if (stop !== undefined) {
    const number = stops.find(stop)
    tests.push((block, row) => block.stop(row) === number)
  }
  return tests
}

async function rowsOf(store: RolloutStore, page: readonly Found[]): Promise<RolloutRow[]> {
  const rows: RolloutRow[] = []
  // Neighbours are mostly of one file, which is then opened once.
  for (let i = 0; i < page.length; ) {
    const { file } = page[i]!
    let end = i
    while (end < page.length && page[end]!.file === file) end++
    const { round, role, block } = file
    const wanted = page.slice(i, end)
    for (const [ref, record] of await store.records(
      round,
      role,
      wanted.map(({ row }) => row),
    )) {
      rows.push(withRate(rowOf(record, ref), block))
    }
    i = end
  }
  return rows
}

/** Records of answers do not hold the pass rate of their question; the block has counted it. */
export function withRate<Row extends RolloutRow>(row: Row, block: Block): Row {
  if (row.rate !== null) return row
  const rate = block.number(block.rowOfLine(row.line), 'rate')
  return Number.isNaN(rate) ? row : { ...row, rate: Number(rate.toPrecision(7)) }
}

/** Looks through whole files, round by round, until a page is full or the time is over. A page ends with a round. */
async function search(
  store: RolloutStore,
  rounds: readonly number[],
  query: RolloutsQuery,
  { to, at, limit }: Start & { limit: number },
): Promise<{ rows: RolloutRow[]; cursor: string | null; coverage: Coverage; more: boolean }> {
  const needle = query.text!.toLowerCase()
  const until = performance.now() + SEARCH * 1000
  const rows: RolloutRow[] = []
  let next = at
  let more = false
  while (next < rounds.length && rows.length < limit && (next === at || performance.now() < until)) {
    const round = rounds[next++]!
    const roles = query.role === undefined ? await store.roles(round) : [query.role]
    for (const role of roles) {
      const found = await searchFile(store, round, role, query, needle)
      more ||= found.length > MOST_ROWS
      rows.push(...found.slice(0, MOST_ROWS))
    }
  }
  return {
    rows,
    more,
    cursor: next < rounds.length ? `${to}.${next}` : null,
    coverage: { read: next, of: rounds.length },
  }
}

/** At most one row more than MOST_ROWS, which tells that there are more: a text that is everywhere is no search. */
async function searchFile(
  store: RolloutStore,
  round: number,
  role: string,
  query: RolloutsQuery,
  needle: string,
): Promise<RolloutRow[]> {
  const block = await store.block(round, role)
  const tests = testsOf(query, store.dictionaries)
  const lines = new Set<number>()
  for (let row = 0; row < block.rows; row++) {
    if (tests.every((test) => test(block, row))) lines.add(block.line(row))
  }
  const file = lines.size > 0 ? await store.open(round, role) : undefined
  if (file === undefined) return []
  // As the text stands in JSON: a line without it needs no parsing.
  const quoted = JSON.stringify(needle).slice(1, -1)
  const rows: RolloutRow[] = []
  let line = 0
  try {
    await eachLine(file, 0, ({ bytes }) => {
      const number = line++
      if (!lines.has(number) || rows.length > MOST_ROWS || bytes === undefined) return
      if (!bytes.toString('utf8').toLowerCase().includes(quoted)) return
      const record = parseObject(bytes)
      if (record && holds(record, needle))
        rows.push(withRate(rowOf(record, { round, role, line: number }), block))
    })
  } finally {
    await file.close()
  }
  return rows
}

function holds(record: RawRecord, needle: string): boolean {
  return [record.prompt, record.text, questionOf(record)].some((text) =>
    textOf(text)?.toLowerCase().includes(needle),
  )
}

function larger(values: Uint32Array<ArrayBuffer>, room: number): Uint32Array<ArrayBuffer> {
  const copy = new Uint32Array(room)
  copy.set(values)
  return copy
}
