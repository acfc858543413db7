import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { extractCode } from './extract-code.js'

const python = (response: string) => extractCode(response, 'python')

describe('extractCode', () => {
  it.each([
    ['the last labelled block', '```python\na\n```\nor\n```py\nb\n```', 'b'],
    ['a labelled block before a later one without a label', '```python\na\n```\nprints\n```\n3\n```', 'a'],
    ['a block without a label', 'So:\n```\na\n```', 'a'],
    ['no block of another language', '```python\na\n```\n```js\nb\n```', 'a'],
    ['an unfinished block', 'So:\n```python\na\nb', 'a\nb'],
    ['what follows the thinking', '<think>```python\nx\n```</think>\n```python\na\n```', 'a'],
    ['the whole where nothing is fenced', '    return 1\n', '    return 1\n'],
    ['the indentation of the first line', '```python\n\n    return 1\n```', '    return 1'],
    ['an indented block without its indentation', '1. So:\n   ```python\n   a\n     b\n   ```', 'a\n  b'],
    ['tildes, and longer fences that hold shorter ones', '~~~~python\n"""\n~~~\n"""\n~~~~', '"""\n~~~\n"""'],
    ['text with a fence character inside', '```python\nx = "```"\n```', 'x = "```"'],
    ['lines that end in CR LF', '```python\r\na\r\nb\r\n```\r\n', 'a\nb'],
  ])('takes %s', (_, response, code) => expect(python(response)).toBe(code))

  it.each([
    ['an empty response', ' \n'],
    ['an empty block', '```python\n```'],
    ['a block of another language alone', '```rust\nfn main() {}\n```'],
    ['thinking that was not finished', '<think>```python\na\n```'],
  ])('finds nothing in %s', (_, response) => expect(python(response)).toBeNull())

  it('tells languages apart', () => {
    const response = '```js\na\n```\n```python\nb\n```'
    expect([extractCode(response, 'javascript'), python(response)]).toEqual(['a', 'b'])
  })

  it('gives back any code that was fenced', () => {
    const code = fc.string({ unit: 'grapheme' }).filter((text) => /\S/.test(text) && !/[`~\r]/.test(text))
    fc.assert(
      fc.property(code, fc.string(), (text, before) => {
        fc.pre(!/[`~<]/.test(before))
        expect(python(`${before}\n\`\`\`python\n${text}\n\`\`\`\nafter`)).toBe(
          text.replace(/^(?:[^\S\n]*\n)+/, ''),
        )
      }),
    )
  })
})
