import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { characterTokenizer } from '../../test/support/scripted.js'
import { chat, encodePrompt, fill } from './chat.js'

const rendered = (ids: Int32Array) => characterTokenizer.decode(ids, { special: true })

describe('encodePrompt', () => {
  it('opens the completion with the suffix', () => {
    const ids = encodePrompt(characterTokenizer, { messages: chat('', 'hi'), suffix: '<think>\n' })
    expect(rendered(ids).endsWith('assistant\n<think>\n')).toBe(true)
  })

  it('does not repeat a suffix that the template writes', () => {
    const opening: typeof characterTokenizer = {
      ...characterTokenizer,
      encodeChat: (messages, options) =>
        characterTokenizer.encodeChat(messages, { ...options, suffix: `<think>${options?.suffix ?? ''}` }),
    }
    const ids = encodePrompt(opening, { messages: chat('', 'hi'), suffix: '<think>\n' })
    expect(rendered(ids).match(/<think>/g)).toHaveLength(1)
  })
})

describe('chat', () => {
  it('leaves out an empty system message', () => {
    expect(chat('', 'hi')).toEqual([{ role: 'user', content: 'hi' }])
    expect(chat('be kind', 'hi')[0]).toEqual({ role: 'system', content: 'be kind' })
  })
})

describe('fill', () => {
  it('puts any text in as it is', () => {
    fc.assert(
      fc.property(fc.string(), (question) => {
        expect(fill('<{question}>', { question })).toBe(`<${question}>`)
      }),
    )
    expect(fill('{question}', { question: '$& {question} {x}' })).toBe('$& {question} {x}')
  })

  it('leaves other braces alone', () => {
    expect(fill('\\boxed{x} {toString}', { question: '?' })).toBe('\\boxed{x} {toString}')
  })
})
