/**
 * What a server understands of the OpenAI protocol. Servers differ in the parameters they take; what one of them
 * refuses is learnt from its refusal once and then left out, where leaving it out changes no answer.
 */
import type { AnswerParams, AnswerPrompt } from './answerer.js'

export interface Question {
  prompt: AnswerPrompt
  /** Choices to ask for in this request. */
  n: number
  seed: number
}

export type Body = Record<string, unknown>

/**
 * Switches off what servers add of their own where a request is silent: sampling defaults of the model's
 * generation_config.json (vLLM, SGLang) or of the server (llama.cpp). A protocol names all of its sampling.
 */
const neutral = { top_k: -1, min_p: 0, repetition_penalty: 1 }

/** An opening tag of a thinking part. A server's own template writes it, and none takes it from outside. */
const opensThinking = /^\s*<think>\s*$/

export class Dialect {
  readonly #refused = new Set<string>()
  readonly #notes = new Set<string>()
  #answers = 0
  #empty = 0

  constructor(readonly model: string) {}

  /** What is asked in another way than the request says, one sentence each. */
  get notes(): string[] {
    const silent = this.#answers > 0 && this.#empty === this.#answers
    return [
      ...this.#notes,
      ...(silent
        ? ['No answer of the service has a text: its key "content" is null or missing in all of them.']
        : []),
    ]
  }

  /** Answers that came, and those of them that had no text at all. */
  counts(answers: number, empty: number): void {
    this.#answers += answers
    this.#empty += empty
  }

  note(sentence: string): void {
    this.#notes.add(sentence)
  }

  /** False once the server has shown that it gives one choice a request, whatever `n` says. */
  get manyChoices(): boolean {
    return !this.#refused.has('n')
  }

  /** The server gave fewer choices than were asked for. */
  givesOneChoice(): void {
    this.#refuse('n')
  }

  /** True where the server takes no stop texts: answers have to be cut here. */
  get cutsHere(): boolean {
    return this.#refused.has('stop')
  }

  body({ prompt, n, seed }: Question, params: AnswerParams): Body {
    const { maxTokens, temperature, topP, stop } = params
    const limit = this.#refused.has('max_tokens') ? 'max_completion_tokens' : 'max_tokens'
    const all: Body = {
      model: this.model,
      ...promptOf(prompt),
      [limit]: maxTokens,
      temperature,
      ...(temperature > 0 && { top_p: topP }),
      ...neutral,
      ...(stop.length > 0 && { stop }),
      ...(n > 1 && { n }),
      seed,
    }
    return Object.fromEntries(Object.entries(all).filter(([name]) => !this.#refused.has(name)))
  }

  /**
   * Learns from the text of a refusal (HTTP 400 or 422). True where the request can be put in another way that asks the
   * same; false where nothing that it names can be left out.
   */
  learn(text: string, sent: Body): boolean {
    const named = Object.keys(sent).filter((name) => replaceable(name, sent) && names(text, name))
    for (const name of named) this.#refuse(name)
    return named.length > 0
  }

  #refuse(name: string): void {
    this.#refused.add(name)
    this.#notes.add(noteOf(name))
  }
}

function promptOf(prompt: AnswerPrompt): Body {
  if ('text' in prompt) return { prompt: prompt.text }
  const { messages, suffix = '' } = prompt
  if (suffix === '' || opensThinking.test(suffix)) return { messages }
  const begun = { role: 'assistant', content: suffix }
  return { messages: [...messages, begun], continue_final_message: true, add_generation_prompt: false }
}

/** A parameter whose absence, or other name, asks for the same answers. */
function replaceable(name: string, sent: Body): boolean {
  if (name in neutral || ['seed', 'n', 'stop', 'max_tokens'].includes(name)) return true
  return (name === 'top_p' || name === 'temperature') && sent[name] === 1
}

function names(text: string, name: string): boolean {
  if (name === 'max_tokens') return /max_completion_tokens/.test(text)
  if (name === 'n') return /(["'`])n\1|\bn (must|should|is|>|=)|one (completion )?choice/i.test(text)
  return new RegExp(`(?<!\\w)${name}(?!\\w)`).test(text)
}

function noteOf(name: string): string {
  if (name in neutral) return `${name} is left to the server, which refuses it.`
  const notes: Record<string, string> = {
    seed: 'The server takes no seed: answers cannot be repeated.',
    n: 'The server gives one answer a request: each is asked for by itself.',
    stop: 'The server takes no stop texts: answers are cut here.',
    max_tokens: 'The token limit is sent as max_completion_tokens.',
  }
  return notes[name] ?? `${name} 1 is not sent, since the server refuses it and has it by default.`
}
