/** What a proposer's completion holds: the question and the proposer's own answer. */
import { lastBoxed } from '../../grader/extract/boxed.js'

export interface ProposalParts {
  /** q: the statement, trimmed; empty where there is none. */
  question: string
  /** a*: the content of the last \boxed{}, trimmed; empty where there is none. */
  answer: string
}

/**
 * q is the first `<problem>..</problem>` after the last `</think>`; a* is the last `\boxed{..}` anywhere, braces balanced
 * (see `lastBoxed`). With `think`, a completion that never closes its thinking has no question. `<answer>` tags are not
 * asked for. Linear time on any text.
 */
export function parseProposal(text: string, think: boolean): ProposalParts {
  return { question: question(text, think), answer: lastBoxed(text)?.trim() ?? '' }
}

function question(text: string, think: boolean): string {
  const thought = text.lastIndexOf('</think>')
  if (think && thought < 0) return ''
  const open = text.indexOf('<problem>', Math.max(thought, 0))
  const close = text.indexOf('</problem>', open)
  return open < 0 || close < 0 ? '' : text.slice(open + '<problem>'.length, close).trim()
}
