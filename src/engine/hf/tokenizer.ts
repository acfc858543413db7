import { join } from 'node:path'
import { Tokenizer as Encoder } from '@huggingface/tokenizers'
import { DataError, messageOf } from '../../core/errors.js'
import type { Tokenizer } from '../engine.js'
import { byteLevelDecoder } from './byte-level.js'
import { type ChatOptions, readChatTemplate, specialTokens } from './chat-template.js'
import type { ModelConfig } from './config.js'
import { isObject, type JsonObject, readJson } from './files.js'

/** The part of @huggingface/tokenizers that is used here; its own types do not resolve under NodeNext. */
interface Inner {
  encode(text: string, options: { add_special_tokens: boolean }): { ids: (number | undefined)[] }
  token_to_id(token: string): number | undefined
  id_to_token(id: number): string | undefined
  get_added_tokens_decoder(): Map<number, { content: string; special: boolean }>
  decoder: ((tokens: string[]) => string) | null
}

/**
 * Reads tokenizer.json, tokenizer_config.json and the chat template of a model folder. Throws DataError.
 *
 * `encode` adds no special tokens of its own, but the text of one, such as `<|im_start|>`, becomes its id. `decode` is
 * the inverse of `encode` and never tidies spaces; an id without a token decodes to nothing.
 */
export async function loadTokenizer(
  folder: string,
  config: Pick<ModelConfig, 'vocabSize' | 'eosIds'>,
  chat: ChatOptions = {},
): Promise<Tokenizer> {
  const path = join(folder, 'tokenizer.json')
  const json = await readJson(path)
  if (json === undefined) {
    throw new DataError(`${folder} has no tokenizer.json.`, {
      hint: 'Download it with the model, or make it with save_pretrained of a transformers AutoTokenizer.',
    })
  }
  const settings = (await readJson(join(folder, 'tokenizer_config.json'))) ?? {}
  const inner = openInner(path, json, settings)
  const special = specialIds(inner, settings)
  const renderChat = await readChatTemplate(folder, settings, chat)
  const decodeIds = chooseDecoder(inner, json, config.vocabSize)

  const encode = (text: string) => {
    const ids = inner.encode(text, { add_special_tokens: false }).ids.filter((id) => id !== undefined)
    const outside = ids.find((id) => id >= config.vocabSize)
    if (outside !== undefined) {
      throw new DataError(
        `${path} gives "${inner.id_to_token(outside)}" the id ${outside}, but the model has only ${config.vocabSize}.`,
        { hint: 'The tokenizer belongs to another model: copy the right one into the model folder.' },
      )
    }
    return Int32Array.from(ids)
  }
  return {
    vocabSize: config.vocabSize,
    eosIds: eosIds(inner, settings, config),
    encode,
    decode: (tokens, options) => {
      const shown = (id: number) => id >= 0 && id < config.vocabSize && (options?.special || !special.has(id))
      return decodeIds(Array.from(tokens).filter(shown))
    },
    encodeChat: (messages, options = {}) =>
      encode(renderChat(messages, options.generationPrompt ?? true) + (options.suffix ?? '')),
  }
}

function openInner(path: string, json: JsonObject, settings: JsonObject): Inner {
  try {
    return new Encoder(json, settings)
  } catch (error) {
    throw new DataError(`${path} does not hold a tokenizer that can be used: ${messageOf(error)}.`, {
      hint: 'Fetch the file again; it must be a tokenizer.json of the Hugging Face tokenizers library.',
      cause: error,
    })
  }
}

function chooseDecoder(
  inner: Inner,
  json: JsonObject,
  vocabSize: number,
): (ids: readonly number[]) => string {
  const vocabulary = Array.from({ length: vocabSize }, (_, id) => inner.id_to_token(id))
  const { decoder } = inner
  if (isObject(json.decoder) && json.decoder.type === 'ByteLevel') {
    const added = new Set([...inner.get_added_tokens_decoder().values()].map(({ content }) => content))
    return byteLevelDecoder(vocabulary, added)
  }
  return (ids) => {
    const tokens = ids.map((id) => vocabulary[id]).filter((token) => token !== undefined)
    return decoder ? decoder(tokens) : tokens.join(' ')
  }
}

/** Ids left out of decoded text: tokens marked special and those tokenizer_config.json names. */
function specialIds(inner: Inner, settings: JsonObject): Set<number> {
  const marked = [...inner.get_added_tokens_decoder()].filter(([, token]) => token.special).map(([id]) => id)
  const more = Array.isArray(settings.additional_special_tokens) ? settings.additional_special_tokens : []
  const named = [...Object.values(specialTokens(settings)), ...more].map((token) =>
    inner.token_to_id(isObject(token) ? String(token.content) : String(token)),
  )
  return new Set([...marked, ...named.filter((id) => id !== undefined)])
}

function eosIds(
  inner: Inner,
  settings: JsonObject,
  config: Pick<ModelConfig, 'vocabSize' | 'eosIds'>,
): number[] {
  const { eos_token: eosToken } = specialTokens(settings)
  const id = eosToken === undefined ? undefined : inner.token_to_id(eosToken)
  const ids = new Set(id === undefined ? config.eosIds : [...config.eosIds, id])
  return [...ids].filter((id) => id < config.vocabSize)
}
