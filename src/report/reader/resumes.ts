/** Where a run ended and was gone on with, as far as its files tell: one that was killed and resumed wrote the same as one that was not. */
import { alarmsSchema, mayRollBack } from '../../runs/alarm-settings.js'
import type { JournalIndex } from './journal.js'
import type { Config } from './parts.js'

/** Rounds between checkpoints where the run file does not say. */
const EVERY = 10

/**
 * Rounds with rounds behind them after which an alarm ended the run, or a checkpoint was written that no setting asked for, as
 * a run writes when it ends.
 */
export function resumesOf(journal: JournalIndex, config: Config): number[] {
  const back = new Set(journal.rollbacks.map(({ round }) => round))
  const ended = journal.alarms.flatMap(({ action, round }) => {
    const isEnd = action === 'pause' || action === 'stop' || (action === 'rollback' && !back.has(round))
    return isEnd ? round : []
  })
  const isDue = dueIn(config)
  const extra = journal.checkpoints.flatMap(({ round }) => (isDue(round) ? [] : round))
  const rounds = [...new Set([...ended, ...extra])].filter((round) => round < journal.round)
  return rounds.sort((a, b) => a - b)
}

function dueIn({ checkpoint, anchors, alarms }: Config): (round: number) => boolean {
  const every = [checkpoint?.every ?? EVERY, checkpoint?.snapshots]
  const { data } = alarmsSchema.safeParse(alarms ?? {})
  // The best anchor so far is kept where an alarm may go back to it.
  if (data && mayRollBack(data)) every.push(anchors?.every)
  const steps = every.filter((each): each is number => typeof each === 'number' && each > 0)
  return (round) => steps.some((step) => round % step === 0)
}
