/**
 * Which alarms hold, which have just begun to, and what is to be done: pure functions of the metrics so far and the
 * settings. Rounds that a rollback undid are no part of the history that an alarm sees.
 */
import { alarmNames, type Finding, rules } from './alarm-rules.js'
import { type Action, type AlarmSettings, actions, usualAlarms } from './alarm-settings.js'
import type { MetricsLine } from './directory.js'
import { lineage } from './history.js'

export interface Alarm extends Omit<Finding, 'role'> {
  /** Of the setting, behind the role it is about: `solver_entropy_collapse`. */
  name: string
  action: Action
}

/** Alarms whose condition holds in the round of the last line; what a rollback after it did is for the next to see. */
export function activeAlarms(
  history: readonly MetricsLine[],
  settings: AlarmSettings = usualAlarms,
): Alarm[] {
  return holding([...lineage(history.slice(0, -1)), ...history.slice(-1)], settings)
}

/** Those whose condition did not hold before that round: an alarm is raised when its condition begins to hold. */
export function newAlarms(history: readonly MetricsLine[], settings: AlarmSettings = usualAlarms): Alarm[] {
  const before = new Set(holding(lineage(history.slice(0, -1)), settings).map(({ name }) => name))
  return activeAlarms(history, settings).filter(({ name }) => !before.has(name))
}

/** The alarm whose action is the severest of those that are more than words, or undefined. */
export function decisive(alarms: readonly Alarm[]): Alarm | undefined {
  const severity = ({ action }: Alarm) => actions.indexOf(action)
  const acting = alarms.filter(({ action }) => action !== 'warn')
  return acting.sort((a, b) => severity(b) - severity(a))[0]
}

function holding(lines: readonly MetricsLine[], settings: AlarmSettings): Alarm[] {
  return alarmNames.flatMap((key) => {
    const { do: action, threshold, window = 1 } = settings[key]
    if (action === 'off') return []
    return rules[key].find(lines, { threshold, window }).map(({ role, ...finding }) => ({
      name: role === undefined ? key : `${role}_${key}`,
      action,
      ...finding,
    }))
  })
}
