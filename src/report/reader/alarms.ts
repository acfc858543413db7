/** The alarms that a run raised, in the words of the rules that raise them, with the rollouts behind each. */
import { alarmNames } from '../../runs/alarm-rules.js'
import { type AlarmSettings, alarmsSchema, usualAlarms } from '../../runs/alarm-settings.js'
import { activeAlarms } from '../../runs/alarms.js'
import type { MetricsLine } from '../../runs/directory.js'
import type { RolloutsQuery } from '../api/rollouts.js'
import type { Alarm } from '../api/run.js'
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
  if (raised.length === 0) return []
  const settings = settingsOf(config)
  const { names } = metrics
  const lines = Array.from({ length: metrics.rows }, (_, row) => lineOf(metrics, row, names))
  const now = new Set(activeAlarms(lines, settings).map(({ name }) => name))
  /** By name: of the first time, since looking through all rounds is slow and the words are the same. */
  const words = new Map<string, { formula: string; message: string } | undefined>()
  return raised.map((alarm) => {
    const { name, round } = alarm
    if (!words.has(name)) {
      const until = lines.slice(0, metrics.rowOf(round) + 1)
      words.set(
        name,
        activeAlarms(until, settings).find((each) => each.name === name),
      )
    }
    const known = words.get(name)
    const role =
      rolesOf(config).find((each) => name.startsWith(`${each.name}_`) && !isOwnName(name))?.name ?? null
    const isLast = raised.findLast((each) => each.name === name) === alarm
    return {
      ...alarm,
      role,
      formula: known?.formula ?? null,
      message: known?.message ?? null,
      active: isLast && now.has(name),
      behind: behind(alarm, role, config),
    }
  })
}

/** Names such as `critic_one_sided` begin with a role as well, and are of nobody in particular. */
function isOwnName(name: string): boolean {
  return (alarmNames as readonly string[]).includes(name)
}

function settingsOf({ alarms }: Config): AlarmSettings {
  const { data } = alarmsSchema.safeParse(alarms ?? {})
  return data ?? usualAlarms
}

function behind({ name, round }: RaisedAlarm, role: string | null, config: Config): RolloutsQuery {
  const rounds = { from: Math.max(1, round - WINDOW + 1), to: round }
  const of = (part: 'author' | 'judge', more: RolloutsQuery = {}): RolloutsQuery => {
    const found = roleOf(config, part)
    return { ...rounds, ...(found !== undefined && { role: found }), ...more }
  }
  if (name.startsWith('heldout')) return { from: round, to: round, role: 'heldout', order: 'worst' }
  if (name.endsWith('_truncation_high') && role) return { ...rounds, role, stop: 'length' }
  if (name.endsWith('_reward_deceives') && role) return { ...rounds, role, order: 'best' }
  if (name === 'labels_wrong') return of('author', { outcome: 'valid' })
  if (name === 'valid_questions_low' || name === 'diversity_low') return of('author')
  if (name.startsWith('critic_') || name.startsWith('verdicts_')) return of('judge')
  return role ? { ...rounds, role } : rounds
}

/** A line of metrics.jsonl over the columns: ten thousand of them weigh nothing. */
function lineOf(metrics: MetricsIndex, row: number, names: readonly string[]): MetricsLine {
  const get = (name: string | symbol) =>
    name === 'step' ? metrics.round(row) : metrics.written(String(name), row)
  return new Proxy({} as MetricsLine, {
    get: (_, name) => get(name),
    has: (_, name) => get(name) !== undefined,
    ownKeys: () => ['step', ...names.filter((name) => get(name) !== undefined)],
    getOwnPropertyDescriptor: (_, name) => ({ value: get(name), enumerable: true, configurable: true }),
  })
}
