/**
 * The child process that compares answers. It is told one pair at a time and may be killed at any moment; it ends
 * itself when its parent is gone, even while a comparison blocks it.
 */
import { isEquivalent } from './equivalence.js'
import { endWithParent } from './watchdog.js'

export interface Question {
  gold: string
  answer: string
}

/** What the child sends: `ready` once, then one verdict a question. */
export type Reply = 'ready' | { equal: boolean }

endWithParent()
process.on('message', ({ gold, answer }: Question) => {
  process.send!({ equal: isEquivalent(gold, answer) } satisfies Reply)
})
process.send!('ready' satisfies Reply)
