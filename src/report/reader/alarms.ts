/** The alarms that a run raised, in the words of the rules that raise them, with the rollouts behind each. */
import { activeAlarms } from '../../runs/alarms.js'
import type { MetricsLine } from '../../runs/directory.js'
import type { Alarm, RolloutsQuery } from '../api.js'
import type { RaisedAlarm } from './journal.js'
import type { MetricsIndex } from './metrics.js'
import { type Config, roleOf, rolesOf } from './parts.js'

/** Rounds that an alarm over a mean looks back on. */
const WINDOW = 5

export function describeAlarms(
  raised: readonly RaisedAlarm[],
  metrics: MetricsIndex,
  config: Config,
): Alarm[] {
  const names = metrics.names
  const lines = Array.from({ length: metrics.rows }, (_, row) => lineOf(metrics, row, names))
  const now = new Set(activeAlarms(lines).map(({ name }) => name))
  /** By name: of the first time, since looking through all rounds is slow and the words are the same. */
  const words = new Map<string, { formula: string; message: string } | undefined>()
  return raised.map((alarm) => {
    if (!words.has(alarm.name)) {
      const until = lines.slice(0, metrics.rowOf(alarm.round) + 1)
      words.set(
        alarm.name,
        activeAlarms(until).find(({ name }) => name === alarm.name),
      )
    }
    const known = words.get(alarm.name)
    const role = rolesOf(config).find(({ name }) => alarm.name.startsWith(`${name}_`))?.name ?? null
    const isLast = raised.findLast(({ name }) => name === alarm.name) === alarm
    return {
      ...alarm,
      role,
      formula: known?.formula ?? null,
      message: known?.message ?? null,
      active: isLast && now.has(alarm.name),
      behind: behind(alarm, role, config),
    }
  })
}

function behind({ name, round }: RaisedAlarm, role: string | null, config: Config): RolloutsQuery {
  const rounds = { from: Math.max(1, round - WINDOW + 1), to: round }
  const of = (part: 'author' | 'judge', more: RolloutsQuery = {}): RolloutsQuery => {
    const found = roleOf(config, part)
    return { ...rounds, ...(found !== undefined && { role: found }), ...more }
  }
  if (name.startsWith('heldout')) return { from: round, to: round, role: 'heldout', order: 'worst' }
  if (name.endsWith('_truncation_high') && role) return { ...rounds, role, stop: 'length' }
  if (name === 'labels_wrong') return of('author', { outcome: 'valid' })
  if (name === 'valid_questions_low' || name === 'diversity_low') return of('author')
  if (name.startsWith('critic_') || name.startsWith('verdicts_')) return of('judge')
  return role ? { ...rounds, role } : rounds
}

/** A line of metrics.jsonl over the columns: ten thousand of them weigh nothing. */
function lineOf(metrics: MetricsIndex, row: number, names: readonly string[]): MetricsLine {
  const get = (name: string | symbol): number | undefined => {
    const value = name === 'step' ? metrics.round(row) : metrics.value(String(name), row)
    return Number.isNaN(value) ? undefined : value
  }
  return new Proxy({} as MetricsLine, {
    get: (_, name) => get(name),
    has: (_, name) => get(name) !== undefined,
    ownKeys: () => ['step', ...names.filter((name) => get(name) !== undefined)],
    getOwnPropertyDescriptor: (_, name) => ({ value: get(name), enumerable: true, configurable: true }),
  })
}
