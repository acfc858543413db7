import { join } from 'node:path'
import { Template } from '@huggingface/jinja'
import { DataError, messageOf } from '../../core/errors.js'
import type { ChatMessage } from '../engine.js'
import { isObject, type JsonObject, readText } from './files.js'
import { mendStripCalls, stripFunctions } from './strip.js'

export type RenderChat = (messages: ChatMessage[], generationPrompt: boolean) => string

export interface ChatOptions {
  /** What templates that ask for `enable_thinking` are told. @default true */
  thinking?: boolean | undefined
}

/**
 * The chat template of a model folder: chat_template.jinja, else `chat_template` of tokenizer_config.json, where it may
 * be a list from which "default" is taken. Rendering throws DataError where there is no template, where it cannot be
 * understood and where it refuses the messages.
 */
export async function readChatTemplate(
  folder: string,
  settings: JsonObject,
  { thinking = true }: ChatOptions = {},
): Promise<RenderChat> {
  const filePath = join(folder, 'chat_template.jinja')
  const inFile = await readText(filePath)
  const path = inFile === undefined ? join(folder, 'tokenizer_config.json') : filePath
  const source = inFile ?? defaultTemplate(path, settings.chat_template)
  const variables = {
    ...specialTokens(settings),
    ...stripFunctions,
    tools: null,
    documents: null,
    enable_thinking: thinking,
    // Llama 3 templates print today's date unless given one; a run that is resumed tomorrow must see the same prompts.
    date_string: '26 Jul 2024',
  }
  let template: Template | undefined
  return (messages, generationPrompt) => {
    template ??= parse(path, source)
    let text: string
    try {
      text = template.render({ ...variables, messages, add_generation_prompt: generationPrompt })
    } catch (error) {
      throw new DataError(`The chat template in ${path} cannot render the messages: ${messageOf(error)}.`, {
        hint: `The messages have the roles ${messages.map(({ role }) => role).join(', ')}: does the model know them?`,
        cause: error,
      })
    }
    if (text !== '' || messages.length === 0) return text
    throw new DataError(`The chat template in ${path} makes no text of the messages.`, {
      hint: 'Correct the template, or put another one into a file chat_template.jinja in the model folder.',
    })
  }
}

function defaultTemplate(path: string, value: unknown): string | undefined {
  if (value === undefined || value === null || typeof value === 'string') return value ?? undefined
  const named = Array.isArray(value)
    ? value.find((item) => isObject(item) && item.name === 'default')
    : undefined
  if (typeof named?.template === 'string') return named.template
  throw new DataError(
    `${path} has a chat_template that is neither a string nor a list with the name "default".`,
    {
      hint: 'Put the template into a file chat_template.jinja in the model folder.',
    },
  )
}

function parse(path: string, source: string | undefined): Template {
  if (source === undefined) {
    throw new DataError(`${path} has no chat_template, so the model cannot take chat messages.`, {
      hint: 'Use an instruction-tuned model, or put a file chat_template.jinja into the model folder.',
    })
  }
  try {
    const template = new Template(source)
    mendStripCalls(template)
    return template
  } catch (error) {
    throw new DataError(`The chat template in ${path} cannot be understood: ${messageOf(error)}.`, {
      hint: 'Correct the template, or put another one into a file chat_template.jinja in the model folder.',
      cause: error,
    })
  }
}

/** The named special tokens (bos_token, eos_token, ...) of tokenizer_config.json, each a string or an object with one. */
export function specialTokens(settings: JsonObject): Record<string, string> {
  const tokens: Record<string, string> = {}
  for (const [key, value] of Object.entries(settings)) {
    if (!/^(bos|eos|unk|sep|pad|cls|mask)_token$/.test(key)) continue
    const content = isObject(value) ? value.content : value
    if (typeof content === 'string') tokens[key] = content
  }
  return tokens
}
