/**
 * The child process that grades. It is told one case at a time and may be killed at any moment; it ends itself when its
 * parent is gone, even while a case blocks it.
 */
import { type Finding, type GradeSettings, judge } from './grade.js'
import type { GradeCase } from './grader.js'
import { endWithParent } from './watchdog.js'

export interface Question extends GradeCase {
  settings: GradeSettings
}

/** What the child sends: `ready` once, then one finding a case. */
export type Reply = 'ready' | Finding

endWithParent()
process.on('message', ({ settings, ...question }: Question) => {
  process.send!(judge(question, settings) satisfies Reply)
})
process.send!('ready' satisfies Reply)
