/** The live block as lines: a pure function of what is known, the size of the terminal and the time. */
import { printable } from '../failure.js'
import { aligned, type Cell, cutTo } from './columns.js'
import { duration, number, percent, sparkline } from './format.js'
import type { LiveState, Phase } from './state.js'

export interface ViewLine {
  text: string
  style?: 'bold' | 'dim' | 'yellow'
}

export interface Size {
  columns: number
  rows: number
}

type WeighedLine = ViewLine & { matters: number }

/** How much a line matters where the terminal is short. */
const matters = { head: 5, phase: 4, alarms: 3, yardstick: 2, lane: 1, more: 0 }

/**
 * Never more than `rows` - 1 lines, of `columns` - 1 at most, so that the block can be drawn over itself; always one.
 *
 * @param now milliseconds, of the clock that the state was told the time by.
 */
export function view(state: LiveState, { columns, rows }: Size, now: number): ViewLine[] {
  const width = Math.max(1, columns - 1)
  const inner = Math.max(1, width - 2)
  const lines: WeighedLine[] = [
    ...aligned([head(state)], width).map((text) => ({ text, style: 'bold' as const, matters: matters.head })),
    ...aligned(
      state.roles.map((role) => lane(state, role)),
      inner,
    ).map((text) => ({ text: `  ${text}`, matters: matters.lane })),
    ...aligned(
      state.yardsticks().map((name) => yardstick(state, name)),
      inner,
    ).map((text, at) => ({ text: `  ${text}`, matters: at === 0 ? matters.yardstick : matters.more })),
    ...(state.alarms.length === 0
      ? []
      : [
          { text: `  alarms: ${state.alarms.join(', ')}`, style: 'yellow' as const, matters: matters.alarms },
        ]),
    { text: `  ${phaseLine(state, inner, now)}`, style: 'dim' as const, matters: matters.phase },
  ]
  return shortened(lines, Math.max(1, rows - 1)).map(({ text, style }) => ({
    text: cutTo(width, printable(text)),
    ...(style && { style }),
  }))
}

function head({ game, run, round, rounds, seconds, left, skipped }: LiveState): Cell[] {
  return [
    { text: game, matters: 3 },
    { text: run, matters: 0 },
    { text: `round ${round}/${rounds}`, matters: 5 },
    { text: seconds === undefined ? '' : `${duration(seconds)} a round`, matters: 1 },
    { text: left === undefined ? '' : `${duration(left)} left`, matters: 4 },
    { text: skipped === undefined ? '' : `no update: ${skipped}`, matters: 2 },
  ]
}

function lane(state: LiveState, role: string): Cell[] {
  const { what = '', values = [] } = state.curves.get(role) ?? {}
  const last = values.at(-1)
  const rate = state.rates.get(role)
  const entropy = state.latest?.[`${role}/policy/entropy`]
  const truncated = state.latest?.[`${role}/len/truncated_frac`]
  return [
    { text: role, matters: 9 },
    { text: what, matters: 2 },
    { text: last === undefined ? '' : number(last), matters: 7 },
    { text: sparkline(values), matters: 5 },
    { text: rate === undefined ? '' : `${Math.round(rate).toLocaleString('en')} tokens/s`, matters: 4 },
    { text: typeof entropy === 'number' ? `entropy ${number(entropy)}` : '', matters: 1 },
    { text: typeof truncated === 'number' ? `truncated ${percent(truncated)}` : '', matters: 0 },
    // Last, since it changes most: what stands before it keeps its place.
    { text: doing(state, role), matters: 6 },
  ]
}

/** What a role does, or whom it waits for. */
function doing({ phase, phases }: LiveState, role: string): string {
  const own = phases.get(role)
  const unfinished = own?.total !== undefined && (own.done ?? 0) < own.total
  if (own && (own === phase || unfinished)) return progressOf(own, own.name.replace(`${role} `, ''))
  if (phase === undefined) return ''
  return phase.role === undefined ? `waits: ${phase.name}` : `waits for ${phase.role}`
}

function progressOf({ done, total }: Phase, name: string): string {
  return total ? `${name} ${done ?? 0}/${total}` : name
}

function yardstick(state: LiveState, name: string): Cell[] {
  const readings = state.readings(name)
  const [first, last] = [readings[0], readings.at(-1)]
  const change = readings.length > 1 ? `${first!.value.toFixed(3)} -> ` : ''
  return [
    { text: nameOf(name), matters: 4 },
    { text: last ? `${change}${last.value.toFixed(3)}` : '', matters: 3 },
    { text: last ? `[${last.low.toFixed(3)}, ${last.high.toFixed(3)}]` : '', matters: 2 },
    { text: sparkline(readings.map(({ value }) => value)), matters: 1 },
  ]
}

function nameOf(metric: string): string {
  if (metric === 'heldout/accuracy') return 'held-out'
  if (metric === 'heldout/greedy') return 'greedy'
  return metric
    .replace(/^level\//, 'level ')
    .replace(/^versus\/(.+)_start$/, '$1 against the start')
    .replace(/^versus\/(.+)_snapshots$/, '$1 against snapshots')
}

function phaseLine({ phase, waiting, round }: LiveState, width: number, now: number): string {
  if (waiting) return `waiting: ${waiting.sentence}`
  if (phase === undefined) return round === 0 ? 'starting' : 'between rounds'
  const share = phase.total ? (phase.done ?? 0) / phase.total : undefined
  const cells: Cell[] = [
    { text: progressOf(phase, phase.name), matters: 3 },
    { text: share === undefined ? '' : bar(share), matters: 1 },
    { text: duration(Math.max(0, now - phase.since) / 1000), matters: 2 },
  ]
  return aligned([cells], width)[0]!
}

function bar(share: number, width = 16): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * width)
  return '█'.repeat(full) + '░'.repeat(width - full)
}

/** Leaves out what matters least, the last of it first, until the lines are few enough. */
function shortened(lines: WeighedLine[], most: number): WeighedLine[] {
  let kept = lines
  while (kept.length > most) {
    const least = kept.reduce((a, b) => (b.matters <= a.matters ? b : a))
    kept = kept.filter((line) => line !== least)
  }
  return kept
}
