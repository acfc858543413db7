import type { Relation } from '../maths/node.js'

/** Signs of comparison as the tokens spell them. */
export const relations: Record<string, Relation> = {
  '=': '=',
  '!=': '!=',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
  '~': '~',
  '∈': 'in',
  '∉': 'notin',
}
