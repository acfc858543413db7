import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseObject, parseWithoutTokens } from './lines.js'

const number = fc.double({ min: -20, max: 0, noNaN: true })
const hostile = fc.oneof(
  fc.string(),
  fc.constantFrom(',"token_lengths":[1],"token_logprobs":[2]', ']', '\\"'),
)
const record = fc.record({ text: hostile, more: fc.jsonValue(), numbers: fc.array(number, { maxLength: 5 }) })

/** A line as a run writes one. */
const line = ({ text, more, numbers }: { text: string; more: unknown; numbers: number[] }) =>
  Buffer.from(
    JSON.stringify({ text, token_lengths: numbers.map(() => 1), token_logprobs: numbers, parts: { more } }),
  )

describe('parseWithoutTokens', () => {
  it('is the record but for its tokens, whatever the texts hold', () => {
    fc.assert(
      fc.property(record, (each) => {
        const { token_lengths: _, token_logprobs: __, ...rest } = parseObject(line(each))!
        expect(parseWithoutTokens(line(each))).toEqual(rest)
      }),
    )
  })

  it('takes lines of other shapes as they are, and finds the same damage', () => {
    const shapes = [
      '{"token_lengths":[1],"between":2,"token_logprobs":[3]}',
      '{"a":1,"token_lengths":[1],"between":2,"token_logprobs":[3]}',
      '{"a":1,"token_logprobs":[3],"token_lengths":[1]}',
      '{"a":1}',
    ]
    for (const shape of shapes) expect(parseWithoutTokens(Buffer.from(shape))).toEqual(JSON.parse(shape))
    const whole = line({ text: 'x', more: null, numbers: [-1, -2] })
    for (let length = 0; length < whole.length; length++) {
      expect(parseWithoutTokens(whole.subarray(0, length))).toBeUndefined()
    }
    expect(parseWithoutTokens(undefined)).toBeUndefined()
  })
})
