import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { DataError } from '../core/errors.js'
import { loadConversations } from './conversations.js'

const folder = mkdtempSync(join(tmpdir(), 'sparring-conversations-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function file(...records: unknown[]): string {
  const path = join(folder, 'conversations.jsonl')
  writeFileSync(path, records.map((record) => JSON.stringify(record)).join('\n'))
  return path
}

const chat = [
  { role: 'system', content: 's' },
  { role: 'user', content: 'u' },
  { role: 'assistant', content: 'a' },
]
const share = [
  { from: 'system', value: 's' },
  { from: 'human', value: 'u' },
  { from: 'gpt', value: 'a' },
]

describe('loadConversations', () => {
  it('reads every spelling as the same turns, and drops what else a turn holds', async () => {
    const path = file(
      { messages: chat },
      { conversations: chat, source: 'x' },
      { id: 3, conversations: share },
      { messages: chat.map((turn) => ({ ...turn, weight: 1 })) },
    )
    expect(await loadConversations(path)).toEqual([chat, chat, chat, chat])
  })

  it.each([
    ['no turns', { text: 'x' }, 'neither "messages" nor "conversations"'],
    ['no assistant', { messages: chat.slice(0, 2) }, 'no turn of the assistant'],
    ['no list', { messages: 'x' }, 'key "messages"'],
    ['unknown speaker', { messages: [{ role: 'tool', content: 'x' }] }, 'key "messages.0.role"'],
    ['no content', { messages: [chat[0], { role: 'assistant' }] }, 'key "messages.1.content"'],
    ['no value', { conversations: [{ from: 'gpt' }] }, 'key "conversations.0.value"'],
    ['no turn', { messages: [null] }, 'key "messages.0"'],
  ])('refuses %s', async (_, record, part) => {
    const error: unknown = await loadConversations(file(record)).catch((cause) => cause)
    expect(error).toBeInstanceOf(DataError)
    expect((error as DataError).message).toContain(part)
  })
})
