import { z } from 'zod'
import type { ChatMessage } from '../engine/engine.js'
import { loadJsonl } from './jsonl.js'

/** Speakers by their spelling in chat and in ShareGPT files. */
const roles: Record<string, ChatMessage['role']> = {
  system: 'system',
  user: 'user',
  human: 'user',
  assistant: 'assistant',
  gpt: 'assistant',
}

const speaker = z.enum(Object.keys(roles)).transform((name) => roles[name]!)
const chatTurn = z.object({ role: speaker, content: z.string() })
const shareTurn = z.object({ from: speaker, value: z.string() }).transform(({ from, value }) => ({
  role: from,
  content: value,
}))
const turns = z
  .array(z.unknown())
  .transform((list, ctx) =>
    list.map((turn, i): ChatMessage => {
      const isShare = typeof turn === 'object' && turn !== null && 'from' in turn
      const result = (isShare ? shareTurn : chatTurn).safeParse(turn)
      if (result.success) return result.data
      for (const issue of result.error.issues) {
        ctx.addIssue({ code: 'custom', message: issue.message, path: [i, ...issue.path] })
      }
      return z.NEVER
    }),
  )
  .refine((list) => list.some((turn) => turn.role === 'assistant'), 'no turn of the assistant to learn from')

const record = z
  .looseObject({ messages: turns.optional(), conversations: turns.optional() })
  .transform(({ messages, conversations }, ctx) => {
    const found = messages ?? conversations
    if (found) return found
    ctx.addIssue({ code: 'custom', message: 'neither "messages" nor "conversations" is there' })
    return z.NEVER
  })

/**
 * Conversations of a JSONL file: `{messages: [{role, content}]}` or `{conversations: [...]}`, whose turns may also be
 * spelled `{from, value}` with `human` and `gpt`. Throws DataError where the file cannot be read, holds none, or a
 * conversation has an unknown speaker or no assistant.
 */
export function loadConversations(path: string): Promise<ChatMessage[][]> {
  return loadJsonl(path, record, 'conversations')
}
