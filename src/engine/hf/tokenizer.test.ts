import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../test/support/folders.js'
import { DataError } from '../../core/errors.js'
import { projectRoot } from '../../core/paths.js'
import type { ChatMessage } from '../engine.js'
import { byteLevelDecoder } from './byte-level.js'
import { loadTokenizer } from './tokenizer.js'

/** A byte-level tokenizer without merges, with an end token and a token that is added but not special. */
function byteTokenizer(changes: object = {}) {
  const printable = (byte: number) =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
  const vocab: Record<string, number> = {}
  let next = 256
  for (let byte = 0; byte < 256; byte++) vocab[String.fromCharCode(printable(byte) ? byte : next++)] = byte
  const added = (id: number, content: string, special: boolean) => ({
    id,
    content,
    special,
    normalized: false,
  })
  return {
    added_tokens: [added(256, '<end>', true), added(257, '<é>', false)],
    normalizer: null,
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: false },
    post_processor: {
      type: 'TemplateProcessing',
      single: [{ SpecialToken: { id: '<end>' } }, { Sequence: { id: 'A' } }],
    },
    decoder: { type: 'ByteLevel' },
    model: { type: 'BPE', vocab, merges: [], unk_token: null },
    ...changes,
  }
}

function folderWith(tokenizer: unknown, settings?: unknown): string {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer))
  if (settings) writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(settings))
  return folder
}

const config = { vocabSize: 260, eosIds: [7] }
const hi: ChatMessage[] = [{ role: 'user', content: 'hi' }]

describe('loadTokenizer', () => {
  it('encodes text alone, without the tokens the post-processor would add', async () => {
    const tokenizer = await loadTokenizer(folderWith(byteTokenizer()), config)
    expect([...tokenizer.encode('Aé<end>')]).toEqual([65, 0xc3, 0xa9, 256])
    expect([...tokenizer.encode('')]).toEqual([])
    expect(tokenizer.vocabSize).toBe(260)
  })

  it('decodes every text back, spaces before punctuation and tokens in the text included', async () => {
    const tokenizer = await loadTokenizer(
      folderWith(byteTokenizer(), { clean_up_tokenization_spaces: true }),
      config,
    )
    const text = fc.string({
      unit: fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('<end>', '<é>', ' .', '\ufeff')),
    })
    fc.assert(
      fc.property(text, (text) => {
        expect(tokenizer.decode(tokenizer.encode(text), { special: true })).toBe(text)
      }),
    )
  })

  it('leaves out special tokens only, and ids without a token', async () => {
    const tokenizer = await loadTokenizer(folderWith(byteTokenizer()), config)
    expect(tokenizer.decode([65, 256, 257, 258, 259, 66])).toBe('A<é>B')
    expect(tokenizer.decode([65, 256, 257, 258, 259, 66], { special: true })).toBe('A<end><é>B')
    expect(tokenizer.decode([-1, 65, 260, 1e9])).toBe('A')
    expect(tokenizer.decode([])).toBe('')
  })

  it('shows an unfinished character as U+FFFD', async () => {
    const tokenizer = await loadTokenizer(folderWith(byteTokenizer()), config)
    const ids = tokenizer.encode('数')
    expect(tokenizer.decode(ids.subarray(0, 2))).toBe('\ufffd')
  })

  it.each([
    ['ByteLevel', { type: 'ByteLevel' }],
    ['none', null],
    ['Fuse', { type: 'Fuse' }],
    ['ByteFallback', { type: 'Sequence', decoders: [{ type: 'ByteFallback' }, { type: 'Fuse' }] }],
  ])('decodes any ids below vocabSize, decoder %s', async (_, decoder) => {
    const tokenizer = await loadTokenizer(folderWith(byteTokenizer({ decoder })), config)
    const ids = fc.array(fc.nat(config.vocabSize - 1))
    fc.assert(
      fc.property(
        ids,
        fc.boolean(),
        (ids, special) => typeof tokenizer.decode(ids, { special }) === 'string',
      ),
    )
  })

  it('ends at the ids of the configuration and the eos_token, and hides the tokens that are named', async () => {
    const named = { eos_token: { content: '<é>' }, additional_special_tokens: ['A', { content: 'B' }] }
    const tokenizer = await loadTokenizer(folderWith(byteTokenizer(), named), config)
    expect(tokenizer.eosIds).toEqual([7, 257])
    expect(tokenizer.decode([65, 66, 67, 257])).toBe('C')
    const few = await loadTokenizer(folderWith(byteTokenizer(), { eos_token: 'none such' }), {
      vocabSize: 9,
      eosIds: [8, 9],
    })
    expect(few.eosIds).toEqual([8])
  })

  it('refuses text whose ids the model does not have', async () => {
    const tokenizer = await loadTokenizer(folderWith(byteTokenizer()), { vocabSize: 256, eosIds: [] })
    expect(() => tokenizer.encode('<end>')).toThrow(DataError)
    expect(() => tokenizer.encode('<end>')).toThrow(/gives "<end>" the id 256, but the model has only 256/)
  })

  it('drops characters that the vocabulary cannot write', async () => {
    const tokenizer = await loadTokenizer(folderWith(byteTokenizer({ pre_tokenizer: null })), config)
    expect([...tokenizer.encode('a漢b')]).toEqual([97, 98])
  })

  it.each([
    ['no JSON', '{', /not valid JSON/],
    ['no tokenizer', '{}', /does not hold a tokenizer that can be used/],
    [
      'an unknown model',
      JSON.stringify(byteTokenizer({ model: { type: 'Bag' } })),
      /Unknown TokenizerModel type: Bag/,
    ],
    ['no added tokens', JSON.stringify(byteTokenizer({ added_tokens: 3 })), /does not hold a tokenizer/],
  ])('refuses a file with %s', async (_, text, message) => {
    const folder = temporaryFolder()
    await expect(loadTokenizer(folder, config)).rejects.toThrow(/has no tokenizer.json/)
    writeFileSync(join(folder, 'tokenizer.json'), text)
    const failed = loadTokenizer(folder, config)
    await expect(failed).rejects.toThrow(DataError)
    await expect(failed).rejects.toThrow(message)
  })
})

describe('encodeChat', () => {
  const template =
    '{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}'

  async function chat(settings: object, file?: string) {
    const folder = folderWith(byteTokenizer(), settings)
    if (file !== undefined) writeFileSync(join(folder, 'chat_template.jinja'), file)
    const tokenizer = await loadTokenizer(folder, config)
    return (options?: { generationPrompt?: boolean; suffix?: string }, messages = hi) =>
      tokenizer.decode(tokenizer.encodeChat(messages, options), { special: true })
  }

  it('renders the template with its tokens, the prompt and the suffix', async () => {
    const render = await chat({ chat_template: template, bos_token: { content: '<end>' } })
    expect(render()).toBe('<end>[user]hi[assistant]')
    expect(render({ generationPrompt: false })).toBe('<end>[user]hi')
    expect(render({ suffix: ' <end>' })).toBe('<end>[user]hi[assistant] <end>')
  })

  it('takes the template named default, and before that the file', async () => {
    const named = {
      chat_template: [
        { name: 'tool_use', template: 'no' },
        { name: 'default', template: 'yes' },
      ],
    }
    expect((await chat(named))()).toBe('yes')
    expect((await chat(named, '{{ messages[0].content }}{{ tools }}'))()).toBe('hi')
  })

  it('switches thinking on and gives no date of today', async () => {
    const render = await chat({
      chat_template: '{{ enable_thinking }} {{ date_string }} {{ tools is none }}',
    })
    expect(render()).toBe('true 26 Jul 2024 true')
  })

  it.each([
    ['no template', {}, /tokenizer_config.json has no chat_template/],
    ['a template that cannot be parsed', { chat_template: '{% if' }, /cannot be understood/],
    [
      'a template that refuses',
      { chat_template: "{{ raise_exception('no system role') }}" },
      /cannot render the messages: no system role/,
    ],
    [
      'a template that calls what is not there',
      { chat_template: '{{ messages.nothing() }}' },
      /cannot render/,
    ],
    ['a template that says nothing', { chat_template: '' }, /makes no text of the messages/],
  ])('throws a DataError for %s', async (_, settings, message) => {
    const render = await chat(settings)
    expect(render).toThrow(DataError)
    expect(render).toThrow(message)
  })

  it('refuses a template list without default when the folder is opened', async () => {
    await expect(chat({ chat_template: [{ name: 'x', template: '' }] })).rejects.toThrow(
      /neither a string nor a list/,
    )
  })
})

const shared = join(projectRoot(), '..', 'shared', 'models', 'qwen-tokenizers')

/** Rendered by apply_chat_template and encoded by the tokenizers library, transformers 5.24. */
const conversation: ChatMessage[] = [
  { role: 'system', content: 'Solve \\boxed{x}.' },
  { role: 'user', content: '1+1=?' },
  { role: 'assistant', content: '<think>\neasy\n</think>\n\n\\boxed{2}' },
  { role: 'user', content: '解 x²=4, 为什么？' },
]
const references = {
  qwen2_5: {
    ids: [
      ...[
        151644, 8948, 198, 50, 3948, 1124, 79075, 45340, 7810, 151645, 198, 151644, 872, 198, 16, 10, 16,
        19884,
      ],
      ...[
        151645, 198, 151644, 77091, 198, 13708, 766, 397, 45022, 198, 522, 26865, 1339, 59, 79075, 90, 17, 92,
      ],
      ...[
        151645, 198, 151644, 872, 198, 49238, 856, 29456, 28, 19, 11, 220, 100678, 11319, 151645, 198, 151644,
      ],
      ...[77091, 198],
    ],
    text: '<|im_start|>system\nSolve \\boxed{x}.<|im_end|>\n<|im_start|>user\n1+1=?<|im_end|>\n<|im_start|>assistant\n<think>\neasy\n</think>\n\n\\boxed{2}<|im_end|>\n<|im_start|>user\n解 x²=4, 为什么？<|im_end|>\n<|im_start|>assistant\n',
    alone:
      '<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n<|im_start|>user\n1+1=?<|im_end|>\n',
  },
  qwen3: {
    ids: [
      ...[
        151644, 8948, 198, 50, 3948, 1124, 79075, 45340, 7810, 151645, 198, 151644, 872, 198, 16, 10, 16,
        19884,
      ],
      ...[
        151645, 198, 151644, 77091, 198, 59, 79075, 90, 17, 92, 151645, 198, 151644, 872, 198, 49238, 856,
        29456,
      ],
      ...[28, 19, 11, 220, 100678, 11319, 151645, 198, 151644, 77091, 198],
    ],
    text: '<|im_start|>system\nSolve \\boxed{x}.<|im_end|>\n<|im_start|>user\n1+1=?<|im_end|>\n<|im_start|>assistant\n\\boxed{2}<|im_end|>\n<|im_start|>user\n解 x²=4, 为什么？<|im_end|>\n<|im_start|>assistant\n',
    alone: '<|im_start|>user\n1+1=?<|im_end|>\n',
  },
}

describe.skipIf(!existsSync(shared))(`real tokenizers (needs ${shared})`, () => {
  it.each(['qwen2_5', 'qwen3'] as const)(
    '%s encodes, decodes and renders as the original does',
    async (name) => {
      const folder = temporaryFolder()
      const packed = readFileSync(join(shared, `${name}-tokenizer.json.gz`))
      writeFileSync(join(folder, 'tokenizer.json'), gunzipSync(packed))
      copyFileSync(join(shared, `${name}-tokenizer_config.json`), join(folder, 'tokenizer_config.json'))
      const tokenizer = await loadTokenizer(folder, { vocabSize: 151936, eosIds: [151643] })

      expect([...tokenizer.encode('<|im_start|>hello<|im_end|>')]).toEqual([151644, 14990, 151645])
      const text =
        '设 $\\frac{a}{b} = \\sqrt{2}$ ，则 \\boxed{a^2 = 2b^2} . Don’t\u00a0stop 👨‍👩‍👧\r\n\r\n\tend'
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text)
      expect(tokenizer.eosIds).toEqual([151643, 151645])
      expect(tokenizer.decode([151644, 14990, 151645, 151935])).toBe('hello')

      const { ids, text: rendered, alone } = references[name]
      expect([...tokenizer.encodeChat(conversation)]).toEqual(ids)
      expect(tokenizer.decode(ids, { special: true })).toBe(rendered)
      const short = tokenizer.encodeChat(conversation.slice(1, 2), { generationPrompt: false })
      expect(tokenizer.decode(short, { special: true })).toBe(alone)
      const withSuffix = tokenizer.encodeChat(conversation, { suffix: '<think>\n' })
      expect([...withSuffix]).toEqual([...ids, ...tokenizer.encode('<think>\n')])

      for (let id = 0; id < tokenizer.vocabSize; id++) tokenizer.decode([id], { special: true })
      const everything = Int32Array.from({ length: tokenizer.vocabSize }, (_, id) => id)
      expect(tokenizer.decode(everything).length).toBeGreaterThan(500_000)
    },
  )
})

describe('byteLevelDecoder', () => {
  it('takes tokens outside the byte alphabet, and those added, by their text', () => {
    const decode = byteLevelDecoder(['Ġ', 'é', '漢字', undefined, 'Ċ'], new Set(['é']))
    expect(decode([0, 1, 2, 3, 4])).toBe(' é漢字\n')
  })
})
