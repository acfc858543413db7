import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Template } from '@huggingface/jinja'
import { Tokenizer } from '@huggingface/tokenizers'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { projectRoot } from '../../core/paths.js'
import { randomStream } from '../../core/random.js'
import { proposerExample } from './examples.js'
import { buildTokenizer } from './tokenizer.js'

const { tokenizer: files, config, vocab, vocabSize } = buildTokenizer()
const tokenizer = new Tokenizer(JSON.parse(JSON.stringify(files)), config)
const encode = (text: string) => tokenizer.encode(text).ids
const decode = (ids: number[], skip = true) =>
  ids.length === 0 ? '' : tokenizer.decode(ids, { skip_special_tokens: skip })

describe('the tokenizer', () => {
  it('encodes and decodes as the Python tokenizers library does', () => {
    const path = join(projectRoot(), 'src/worlds/arithmetic/fixtures/tokenizer-peer.json')
    const cases: { text: string; ids: number[]; decoded: string }[] = JSON.parse(readFileSync(path, 'utf8'))
    expect(cases.length).toBeGreaterThan(40)
    for (const { text, ids, decoded } of cases) {
      expect(encode(text)).toEqual(ids)
      expect(decode(ids)).toBe(decoded)
    }
  })

  it('keeps every text of its characters and tags', () => {
    const unit = fc.constantFrom(
      ...Object.keys(vocab).filter((token) => token !== '<unk>' && !token.startsWith('<|')),
    )
    fc.assert(
      fc.property(fc.string({ unit }), (text) => {
        expect(decode(encode(text))).toBe(text)
      }),
    )
  })

  it('gives tags and turn marks one id each, and keeps only the tags in plain text', () => {
    const text = '<|im_start|>a<think></think><problem></problem><answer>\\boxed{</answer><|im_end|>'
    expect(encode(text).length).toBe(10)
    expect(decode(encode(text))).toBe('a<think></think><problem></problem><answer>\\boxed{</answer>')
    expect(decode(encode(text), false)).toBe(text)
  })

  it('maps every other character to one unknown id', () => {
    expect(encode('é日😀\t')).toEqual(Array(4).fill(vocab['<unk>']))
  })

  it('has room for every id in a multiple of 16 rows', () => {
    const ids = Object.values(vocab)
    expect(new Set(ids).size).toBe(ids.length)
    expect(vocabSize % 16).toBe(0)
    expect(vocabSize - Math.max(...ids)).toBeGreaterThan(0)
    expect(vocabSize - ids.length).toBeLessThan(16)
  })

  it('writes a conversation as turns, open for the assistant where asked', () => {
    const template = new Template((config as { chat_template: string }).chat_template)
    const messages = [{ role: 'user', content: '1+2' }]
    const open = template.render({ messages, add_generation_prompt: true })
    expect(open).toBe('<|im_start|>user\n1+2<|im_end|>\n<|im_start|>assistant\n')
    const full = [...messages, { role: 'assistant', content: '1+2=3' }]
    expect(template.render({ messages: full, add_generation_prompt: false })).toBe(`${open}1+2=3<|im_end|>\n`)
  })

  it('covers the examples without unknown ids', () => {
    const stream = randomStream(1, 'cover')
    for (let i = 0; i < 200; i++) {
      const { messages } = proposerExample(stream, { detail: 'split', wrongStepRate: 0.5 })
      for (const { content } of messages) expect(encode(content)).not.toContain(vocab['<unk>'])
    }
  })
})
