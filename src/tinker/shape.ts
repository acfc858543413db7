/** Answers as values of the shape they should have; what is wrong with them may pass. */
import type { z } from 'zod'
import { isPage } from '../core/page.js'
import { Passing } from './persistence.js'

/** Throws Passing where the text is no JSON, which may be a proxy's doing. */
export function jsonOfText(text: string, type = ''): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    if (isPage(text, type))
      throw new Passing('a web page in the place of an answer', { kind: 'doubt', cause })
    throw new Passing('an answer that is no JSON, or was cut off', { kind: 'doubt', cause })
  }
}

/** The value, checked. Throws Passing that names the key which is wrong. */
export function shaped<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const { path, message } = result.error.issues[0]!
  const key = path.length > 0 ? `key "${path.join('.')}": ` : ''
  throw new Passing(`an answer of the wrong shape: ${key}${message.replace(/\.$/, '')}`, {
    kind: 'doubt',
    cause: result.error,
  })
}
