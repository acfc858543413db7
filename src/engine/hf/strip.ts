/**
 * Python's `strip`, `lstrip` and `rstrip` with an argument, which templates of Qwen3 call and @huggingface/jinja takes
 * for those without one: spaces would be lost that transformers keeps.
 */
import type { Template } from '@huggingface/jinja'

/** By method. No template can write these names, so none can mean something else by them. */
const names = { strip: 'text.strip', lstrip: 'text.lstrip', rstrip: 'text.rstrip' }

/** Variables that a template needs once `mendStripCalls` went over it. */
export const stripFunctions = {
  [names.strip]: (text: string, characters: string | null | undefined) => strip(text, characters, true, true),
  [names.lstrip]: (text: string, characters: string | null | undefined) =>
    strip(text, characters, true, false),
  [names.rstrip]: (text: string, characters: string | null | undefined) =>
    strip(text, characters, false, true),
}

/** Turns `text.lstrip(characters)` into a call of the function above, everywhere in the template. */
export function mendStripCalls({ parsed }: Template): void {
  visit(parsed)
}

function visit(node: unknown): void {
  if (typeof node !== 'object' || node === null) return
  mend(node)
  for (const child of Object.values(node)) visit(child)
}

interface Call {
  type: 'CallExpression'
  callee: { type: string; computed?: boolean; object?: unknown; property?: { value?: unknown } }
  args: unknown[]
}

function mend(node: object): void {
  const { type, callee, args } = node as Partial<Call>
  if (type !== 'CallExpression' || callee?.type !== 'MemberExpression' || callee.computed) return
  const method = callee.property?.value
  if (!args || args.length === 0 || typeof method !== 'string' || !Object.hasOwn(names, method)) return
  const value = names[method as keyof typeof names]
  Object.assign(node, { callee: { type: 'Identifier', value }, args: [callee.object, ...args] })
}

function strip(text: string, characters: string | null | undefined, start: boolean, end: boolean): string {
  if (characters === null || characters === undefined)
    return start && end ? text.trim() : start ? text.trimStart() : text.trimEnd()
  const stripped = new Set(characters)
  const letters = [...text]
  const first = start ? letters.findIndex((letter) => !stripped.has(letter)) : 0
  if (first < 0) return ''
  const last = end ? letters.findLastIndex((letter) => !stripped.has(letter)) : letters.length - 1
  return letters.slice(first, last + 1).join('')
}
