/** What happened to a run, as it is marked in charts over rounds. */
import type { RunDetail } from '../../api/run.js'

export interface Mark {
  kind: 'alarm' | 'rollback' | 'resume'
  round: number
  text: string
}

export const markSigns: Record<Mark['kind'], string> = { alarm: '▲', rollback: '↩', resume: '▸' }

/** Alarms that began, rollbacks and resumes, by round. */
export function marksOf({
  history,
  rollbacks,
  resumes,
}: Pick<RunDetail, 'history' | 'rollbacks' | 'resumes'>): Mark[] {
  const marks: Mark[] = [
    ...history.map(({ name, round }): Mark => ({ kind: 'alarm', round, text: `alarm ${name}` })),
    ...rollbacks.map(
      ({ round, to, alarm }): Mark => ({
        kind: 'rollback',
        round,
        text: `rollback to round ${to} (${alarm})`,
      }),
    ),
    ...resumes.map((round): Mark => ({ kind: 'resume', round, text: 'ended and resumed' })),
  ]
  return marks.sort((a, b) => a.round - b.round)
}

/** Marks that stand for the rounds of a point. */
export function marksWithin(marks: readonly Mark[], from: number, to: number): Mark[] {
  return marks.filter(({ round }) => round >= from && round <= to)
}

export function textOf(marks: readonly Mark[]): string {
  return marks.map(({ text }) => text).join('; ')
}

/** A line a mark, for a tooltip. */
export function markTitle(marks: readonly Mark[]): string {
  return marks.map(({ round, text }) => `round ${round}: ${text}`).join('\n')
}

export interface MarkGroup {
  /** Pixels from the left. */
  at: number
  marks: Mark[]
}

/** Marks that lie within `room` pixels of the first of them are drawn as one, in the sign of the gravest. */
export function grouped(marks: readonly Mark[], place: (round: number) => number, room: number): MarkGroup[] {
  const groups: MarkGroup[] = []
  for (const mark of marks) {
    const at = place(mark.round)
    const last = groups.at(-1)
    if (last && at - last.at < room) last.marks.push(mark)
    else groups.push({ at, marks: [mark] })
  }
  return groups
}

/** A rollback says more than the alarm that asked for it. */
export function gravest(marks: readonly Mark[]): Mark['kind'] {
  const kinds = marks.map(({ kind }) => kind)
  return (['rollback', 'alarm', 'resume'] as const).find((kind) => kinds.includes(kind)) ?? 'alarm'
}
