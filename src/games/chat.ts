/** Chat prompts, rendered by the model's own template. */
import type { ChatMessage, Tokenizer } from '../engine/engine.js'

export interface ChatPrompt {
  messages: ChatMessage[]
  /** Text behind the generation prompt, such as an opening thinking tag; not repeated where the template writes it. */
  suffix?: string
}

/** Renders and encodes a prompt. Throws DataError where the model has no chat template. */
export function encodePrompt(tokenizer: Tokenizer, { messages, suffix = '' }: ChatPrompt): Int32Array {
  const bare = tokenizer.encodeChat(messages, { generationPrompt: true })
  if (suffix === '') return bare
  const written = tokenizer.decode(bare, { special: true }).trimEnd().endsWith(suffix.trimEnd())
  return written ? bare : tokenizer.encodeChat(messages, { generationPrompt: true, suffix })
}

/** System and user message; an empty system text is left out. */
export function chat(system: string, user: string): ChatMessage[] {
  return [...(system ? [{ role: 'system' as const, content: system }] : []), { role: 'user', content: user }]
}

/** Puts values in the place of `{name}`; a value is never searched again, and unknown names stay as they are. */
export function fill(template: string, values: Record<string, string>): string {
  return template.replace(/\{(\w+)\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? values[name]! : whole,
  )
}
