import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FailedReply, readReply } from './endpoint-reply.js'

const reply = (...choices: object[]) => ({ choices, usage: { completion_tokens: 12 } })
const chat = (message: object, finish_reason = 'stop') => ({ message, finish_reason })
const textOf = (choice: object) => readReply(reply(choice)).choices[0]!.text

describe('readReply', () => {
  it('takes choices in the order of their numbers', () => {
    const choices = [1, 0].map((index) => ({ index, ...chat({ content: `${index}` }) }))
    expect(readReply(reply(...choices)).choices.map(({ text }) => text)).toEqual(['0', '1'])
  })

  it.each([
    ['reasoning_content', chat({ content: 'a', reasoning_content: 'b' })],
    ['reasoning', chat({ content: 'a', reasoning: 'b', reasoning_content: null })],
    [
      'parts of the content',
      chat({
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'b' }] },
          { type: 'text', text: 'a' },
        ],
      }),
    ],
  ])('puts thinking in front: %s', (_, choice) => {
    expect(textOf(choice)).toBe('<think>\nb\n</think>\n\na')
  })

  it('leaves thinking open where it was cut off, and only there', () => {
    expect(textOf(chat({ content: null, reasoning: 'b' }, 'length'))).toBe('<think>\nb')
    expect(textOf(chat({ content: '', reasoning: 'b' }))).toBe('<think>\nb\n</think>\n\n')
  })

  it('takes an empty answer for an answer', () => {
    expect(textOf(chat({ content: null }))).toBe('')
    expect(textOf({ text: '', finish_reason: 'stop' })).toBe('')
  })

  it('counts for itself where what is reported is no count', () => {
    for (const usage of [undefined, null, {}, { completion_tokens: null }, 'none']) {
      const read = readReply({ choices: [{ text: '12345' }], usage })
      expect(read).toMatchObject({ counted: false, choices: [{ tokens: 2 }] })
    }
  })

  it.each([
    ['length', 'length'],
    ['max_tokens', 'length'],
    ['stop', 'stop'],
    ['content_filter', 'stop'],
    [null, 'stop'],
  ])('reads finish_reason %s', (finish_reason, stop) => {
    expect(readReply(reply({ text: 'a', finish_reason })).choices[0]!.stop).toBe(stop)
  })

  it('splits the tokens of all choices by length, and loses none', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.array(fc.string(), { minLength: 1, maxLength: 8 }), (total, texts) => {
        const choices = texts.map((text) => ({ text }))
        const read = readReply({ choices, usage: { completion_tokens: total } })
        expect(read.counted).toBe(true)
        const tokens = read.choices.map((choice) => choice.tokens)
        expect(tokens.reduce((sum, count) => sum + count, 0)).toBe(total)
        const all = texts.join('').length
        texts.forEach(({ length }, i) => {
          const share = total * (all > 0 ? length / all : 1 / texts.length)
          expect(Math.abs(tokens[i]! - share)).toBeLessThan(1)
        })
      }),
    )
  })

  it.each([
    ['an error', { error: { message: 'out of memory' } }, 502, 'out of memory'],
    ['an error with its status', { error: { message: 'slow down', code: 429 } }, 429, 'slow down'],
    ['an error in one word', { error: 'overloaded' }, 502, 'overloaded'],
    ['an error beside choices', { ...reply({ text: 'a' }), error: { message: 'x' } }, 502, 'x'],
    ['a generation that was ended', reply({ text: 'a', finish_reason: 'abort' }), 502, 'abort'],
    ['no choices', { choices: [] }, 502, 'no completion'],
    ['something else', [1], 502, 'no completion'],
    ['nothing', null, 502, 'no completion'],
  ])('finds a failure: %s', (_, body, status, message) => {
    const read = () => readReply(body)
    expect(read).toThrow(FailedReply)
    expect(read).toThrow(message)
    try {
      read()
    } catch (error) {
      expect((error as FailedReply).status).toBe(status)
    }
  })

  it('takes whatever JSON comes for a reply or a failure', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        try {
          readReply(body)
        } catch (error) {
          expect(error).toBeInstanceOf(FailedReply)
        }
      }),
    )
  })
})
