/** The knowledge text in a proposer's prompt: what fills {knowledge} in the user message of the settings. */
import type { Config } from './parts.js'
import { textOf } from './record.js'

/** Marks around the user's message in the chat templates of Qwen and of Llama. */
const turns = [
  /<\|im_start\|>user\n([\s\S]*?)<\|im_end\|>/g,
  /<\|start_header_id\|>user<\|end_header_id\|>\n\n([\s\S]*?)<\|eot_id\|>/g,
]

/** Null where the game has none, or the prompt is not made of the settings' text. */
export function knowledgeOf(prompt: string, { settings = {} }: Config, author: string): string | null {
  const template = textOf((settings[author] as Record<string, unknown> | undefined)?.user)
  if (settings.knowledge === 'none' || template === null) return null
  const [before, after, more] = template.split('{knowledge}')
  if (before === undefined || after === undefined || more !== undefined) return null
  const message = turns.flatMap((turn) => [...prompt.matchAll(turn)]).at(-1)?.[1] ?? prompt
  // Chat templates trim messages.
  const [head, tail] = [before.trimStart(), after.trimEnd()]
  const start = message.indexOf(head)
  const end = tail === '' ? message.length : message.lastIndexOf(tail)
  if (start < 0 || end < start + head.length) return null
  return message.slice(start + head.length, end)
}
