/** What an alarm does, as the run file says it: `labels_wrong: rollback`, or a table with threshold and window. */
import { z } from 'zod'
import { type AlarmName, alarmNames, type Rule, rules } from './alarm-rules.js'

/** From the mildest to the severest; where several alarms are raised at once, the severest is obeyed. */
export const actions = ['off', 'warn', 'rollback', 'pause', 'stop'] as const

export type Action = (typeof actions)[number]

export interface AlarmSetting {
  do: Action
  threshold: number
  /** Absent where the condition averages over nothing. */
  window?: number
}

const action = z.enum(actions).describe('off, warn, rollback (to the best anchor), pause or stop')

function settingOf({ threshold, window, windowed, about }: Rule) {
  const shape = {
    do: action.default('warn'),
    threshold: z.number().default(threshold).describe(about),
    ...(windowed && { window: z.int().min(1).default(window).describe('Rounds that are averaged over') }),
  }
  return z
    .union([action, z.strictObject(shape)])
    .transform((given): AlarmSetting => {
      if (typeof given !== 'string') return given as AlarmSetting
      return { do: given, threshold, ...(windowed && { window }) }
    })
    .prefault('warn')
    .describe(about)
}

const shape = Object.fromEntries(alarmNames.map((name) => [name, settingOf(rules[name])])) as Record<
  AlarmName,
  ReturnType<typeof settingOf>
>

export const alarmsSchema = z.strictObject({
  ...shape,
  rollback: z
    .strictObject({
      lr_scale: z
        .number()
        .gt(0)
        .max(1)
        .default(0.5)
        .describe('Learning rates are multiplied with this at every rollback, for good'),
      most: z.int().min(1).default(3).describe('Rollbacks of a run; the run pauses in the place of another'),
    })
    .prefault({})
    .describe('What a rollback changes'),
})

export type AlarmSettings = z.output<typeof alarmsSchema>

/** Every alarm at its usual threshold, and none that acts. */
export const usualAlarms: AlarmSettings = alarmsSchema.parse({})

/** Whether any alarm takes the run back. */
export function mayRollBack(settings: AlarmSettings): boolean {
  return alarmNames.some((name) => settings[name].do === 'rollback')
}
