import { canonical, solveQuestion } from './expression.js'

/**
 * Whether a step of a worked chain, `46+56=102` or `48+5=53 \boxed{53}`, is true: all its links have one value, and so has
 * the box. With `question`, the first link must be the question itself. Undefined where a link is no text of this world,
 * or there is but one.
 */
export function holds(step: string, question?: string): boolean | undefined {
  const [, chain, box] = /^\s*([^\\]*?)\s*(?:\\boxed\{([^}]*)\}\s*)?$/.exec(step) ?? []
  const links = [...(chain?.split('=') ?? []), ...(box === undefined ? [] : [box])]
  if (links.length < 2 || links.some((link) => canonical(link) === undefined)) return undefined
  if (question !== undefined && canonical(links[0]!) !== canonical(question)) return false
  const [first, ...others] = links.map(solveQuestion)
  return first === undefined ? undefined : others.every((value) => value === first)
}
