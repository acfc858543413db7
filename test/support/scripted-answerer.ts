/** An answerer that says what a script says, and remembers what it was asked. */
import type { Answerer, AnswerPrompt, AnswerRequest } from '../../src/eval/answerer.js'

export interface ScriptedAnswerer extends Answerer {
  /** Requests so far. */
  asked: AnswerRequest[]
}

export interface ScriptOptions {
  name?: string
  /** Answers after which it fails, in all calls together. */
  failAfter?: number
  /** Called before each answer. */
  before?: () => Promise<void> | void
}

export type AnswerScript = (prompt: string, request: AnswerRequest) => string

/** Every answer has as many tokens as words; requests are answered last first. */
export function scriptedAnswerer(script: AnswerScript, options: ScriptOptions = {}): ScriptedAnswerer {
  let given = 0
  return {
    name: options.name ?? 'scripted',
    asked: [],
    async *answer(requests, _params, signal) {
      for (let request = requests.length - 1; request >= 0; request--) {
        const { prompt, n } = requests[request]!
        for (let index = 0; index < n; index++) {
          await options.before?.()
          signal?.throwIfAborted()
          if (given++ === options.failAfter) throw new Error('The script ends here.')
          this.asked.push(requests[request]!)
          const text = script(textOf(prompt), requests[request]!)
          yield { request, index, text, tokens: text.split(' ').length, stop: 'eos' }
        }
      }
    },
    close: async () => {},
  }
}

/** What was put last. */
export function textOf(prompt: AnswerPrompt): string {
  return 'text' in prompt ? prompt.text : prompt.messages.at(-1)!.content
}
