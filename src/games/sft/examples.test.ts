import { describe, expect, it } from 'vitest'
import { characterTokenizer } from '../../../test/support/scripted.js'
import type { ChatMessage, Tokenizer } from '../../engine/engine.js'
import { encodeConversation, exampleDatum, trainedTokens } from './examples.js'

const user = (content: string): ChatMessage => ({ role: 'user', content })
const assistant = (content: string): ChatMessage => ({ role: 'assistant', content })

/** What is trained, as text. */
function trainedText(tokenizer: Tokenizer, messages: ChatMessage[]): string[][] {
  return encodeConversation(tokenizer, messages).map(({ tokens, trained }) =>
    trained.map(([from, to]) => tokenizer.decode(tokens.slice(from, to), { special: true })),
  )
}

describe('encodeConversation', () => {
  it("trains the assistant's words and the end of its turn, and no more", () => {
    expect(trainedText(characterTokenizer, [user('hi'), assistant('hello')])).toEqual([['hello\ue001']])
  })

  it('trains all turns of a conversation in one sequence', () => {
    const messages = [user('a'), assistant('b'), user('c'), assistant('d'), user('e')]
    expect(trainedText(characterTokenizer, messages)).toEqual([['b\ue001', 'd\ue001']])
  })

  it('gives a turn its own sequence where the template renders earlier turns otherwise', () => {
    const forgetful: Tokenizer = {
      ...characterTokenizer,
      encodeChat: (messages, options) =>
        characterTokenizer.encodeChat(
          messages.map((message, i) =>
            message.role === 'assistant' && i < messages.length - 1
              ? { ...message, content: '...' }
              : message,
          ),
          options,
        ),
    }
    const messages = [user('a'), assistant('thought b'), user('c'), assistant('thought d')]
    expect(trainedText(forgetful, messages)).toEqual([['thought b\ue001'], ['thought d\ue001']])
  })

  it('trains nothing without an assistant, and refuses one that speaks first', () => {
    expect(encodeConversation(characterTokenizer, [user('a')])).toEqual([])
    expect(() => encodeConversation(characterTokenizer, [assistant('a')])).toThrow(
      /starts with the assistant/,
    )
  })
})

describe('exampleDatum', () => {
  it('puts the weight on the targets that are trained', () => {
    const [example] = encodeConversation(characterTokenizer, [user('hi'), assistant('ok')])
    const { targets, weights } = exampleDatum(example!, 0.5)
    const kept = targets.filter((_, t) => weights![t] === 0.5)
    expect(String.fromCharCode(...kept)).toBe('ok\ue001')
    expect(weights!.filter((weight) => weight !== 0)).toHaveLength(trainedTokens(example!))
  })
})
