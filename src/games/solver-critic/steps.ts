/** A solution as the numbered steps that a critic judges. */

/** A step is a line; or a link `a=b` of a line of equations `a=b=c`. */
export type Split = 'lines' | 'links'

/** An equals sign that is no part of another sign. */
const EQUALS = /(?<![<>=!:\\])=(?!=)/

/**
 * Cuts a solution into steps, at least one. Blank lines are none. What is beyond the last step that `most` allows belongs
 * to that step, so that nothing of the solution is kept from the critic.
 */
export function splitSteps(solution: string, split: Split, most: number): string[] {
  const lines = solution
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const steps = split === 'links' ? lines.flatMap(links) : lines
  if (steps.length === 0) return ['']
  return steps.length <= most ? steps : [...steps.slice(0, most - 1), steps.slice(most - 1).join('\n')]
}

/** `a=b=c` as `a=b` and `b=c`; a line with one equals sign or none is one link. */
function links(line: string): string[] {
  const sides = sidesOf(line)
  if (sides.length < 3) return [line]
  return sides.slice(1).map((side, i) => `${sides[i]!.trim()}=${side.trim()}`)
}

/** The text between its equals signs, those in braces apart. */
export function sidesOf(line: string): string[] {
  const sides = ['']
  let depth = 0
  for (let i = 0; i < line.length; i++) {
    const sign = line[i]!
    if (sign === '{') depth++
    if (sign === '}') depth = Math.max(0, depth - 1)
    if (sign === '=' && depth === 0 && EQUALS.test(line.slice(Math.max(0, i - 1), i + 2))) sides.push('')
    else sides[sides.length - 1] += sign
  }
  return sides
}

/** The steps with their numbers, as the critic is shown them. */
export function numbered(steps: readonly string[]): string {
  return steps.map((step, k) => `Step ${k + 1}: ${step}`).join('\n')
}
