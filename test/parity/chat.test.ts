/** Chat templates and tokenizers of released models, against what transformers makes of them: see chat.py. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { projectRoot } from '../../src/core/paths.js'
import type { ChatMessage } from '../../src/engine/engine.js'
import { readChatTemplate } from '../../src/engine/hf/chat-template.js'
import { loadTokenizer } from '../../src/engine/hf/tokenizer.js'
import { pulledModel } from '../../src/hub/models.js'
import { temporaryFolder } from '../support/folders.js'

interface Case {
  conversation: string
  generationPrompt: boolean
  text: string
  /** Where it differs. */
  textWithoutThinking?: string
}

interface Cases {
  conversations: Record<string, ChatMessage[]>
  families: Record<string, { bos: string | null; model?: string; cases: Case[] }>
  texts: string[]
  /** Of each text, by tokenizer. */
  ids: Record<string, number[][]>
}

const fixtures = join(projectRoot(), 'test/parity/released/fixtures')
const { conversations, families, texts, ids } = JSON.parse(
  readFileSync(join(fixtures, 'cases.json'), 'utf8'),
) as Cases

/** Folder and settings of a family's model with its template: from the fixtures, or as it was pulled. */
function place(family: string): { folder: string; settings: Record<string, unknown> } | undefined {
  const { bos, model } = families[family]!
  if (model === undefined) {
    const chat_template = readFileSync(join(fixtures, `${family}.jinja`), 'utf8')
    return { folder: fixtures, settings: { chat_template, bos_token: bos } }
  }
  const folder = pulledModel(model, { weights: false })?.folder
  if (folder === undefined) return undefined
  return { folder, settings: JSON.parse(readFileSync(join(folder, 'tokenizer_config.json'), 'utf8')) }
}

const names = Object.keys(families).map((family) => [family, place(family)] as const)
const absent = names.filter(([, found]) => found === undefined).map(([family]) => family)

describe('chat templates render as in transformers', () => {
  for (const [family, found] of names) {
    describe.skipIf(!found)(found ? family : `${family} (skipped: not in the cache of the Hub)`, () => {
      it.each([true, false])('thinking %s', async (thinking) => {
        const render = await readChatTemplate(found!.folder, found!.settings, { thinking })
        for (const { conversation, generationPrompt, text, textWithoutThinking } of families[family]!.cases) {
          const expected = thinking ? text : (textWithoutThinking ?? text)
          expect(render(conversations[conversation]!, generationPrompt), conversation).toBe(expected)
        }
      })
    })
  }

  it('which covers families that think where they are let, and those that do not ask', () => {
    const differing = Object.keys(families).filter((family) =>
      families[family]!.cases.some(({ textWithoutThinking }) => textWithoutThinking !== undefined),
    )
    expect(differing).toEqual(['qwen3'])
    expect(absent.filter((family) => families[family]!.model === undefined)).toEqual([])
  })

  it.each(['string', 'named', 'file'])('from a template given as %s', async (form) => {
    const folder = temporaryFolder()
    const template = readFileSync(join(fixtures, 'qwen3.jinja'), 'utf8')
    const others = {
      string: template,
      named: [
        { name: 'tool_use', template: 'no' },
        { name: 'default', template },
      ],
    }
    if (form === 'file') writeFileSync(join(folder, 'chat_template.jinja'), template)
    const chat_template = others[form as keyof typeof others]
    const render = await readChatTemplate(folder, chat_template === undefined ? {} : { chat_template })
    const [first] = families.qwen3!.cases
    expect(render(conversations[first!.conversation]!, first!.generationPrompt)).toBe(first!.text)
  })
})

const shared = join(projectRoot(), '..', 'shared/models/qwen-tokenizers')
const qwen = (file: string) => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'tokenizer.json'), gunzipSync(readFileSync(join(shared, file))))
  return folder
}
const llama = pulledModel('meta-llama/Llama-3.1-8B-Instruct', { weights: false })?.folder
const tokenizers: Record<string, { present: boolean; folder(): string; vocabSize: number }> = {
  'qwen2.5': {
    present: existsSync(shared),
    folder: () => qwen('qwen2_5-tokenizer.json.gz'),
    vocabSize: 151936,
  },
  qwen3: { present: existsSync(shared), folder: () => qwen('qwen3-tokenizer.json.gz'), vocabSize: 151936 },
  'llama-3': { present: llama !== undefined, folder: () => llama!, vocabSize: 128256 },
}

describe('tokenizers give the ids of the tokenizers library', () => {
  for (const [name, { present, folder, vocabSize }] of Object.entries(tokenizers)) {
    it.skipIf(!present)(`${name}${present ? '' : ' (skipped: its tokenizer is not here)'}`, async () => {
      const tokenizer = await loadTokenizer(folder(), { vocabSize, eosIds: [] })
      for (const [i, text] of texts.entries()) {
        expect([...tokenizer.encode(text)], JSON.stringify(text)).toEqual(ids[name]![i])
        expect(tokenizer.decode(ids[name]![i]!, { special: true })).toBe(
          name === 'llama-3' ? text : text.normalize('NFC'),
        )
      }
    })
  }
})
