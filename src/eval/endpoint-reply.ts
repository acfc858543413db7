/** Reads what a server answers: choices of chats and of bare texts, thinking parts, token counts. */
import { z } from 'zod'

export interface Choice {
  text: string
  tokens: number
  stop: 'stop' | 'length'
}

export interface Reply {
  /** In the server's order; at least one. */
  choices: Choice[]
  /** Choices with no text, not even an empty one. */
  empty: number
  /** False where the server reports no usage: `tokens` is then an estimate, a token for four characters. */
  counted: boolean
}

/** The reply says that the server failed. `status` is the HTTP status that fits. */
export class FailedReply extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message)
  }
}

/** The reply has not the form of a completion. */
export class UselessReply extends FailedReply {
  constructor(what: string) {
    super(502, `its reply is no completion: ${what}`)
  }
}

const part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  thinking: z.unknown().optional(),
})
const content = z.union([z.string(), z.array(part)]).nullish()
const schema = z.looseObject({
  choices: z
    .array(
      z.looseObject({
        index: z.number().nullish(),
        message: z
          .looseObject({
            content,
            reasoning_content: z.string().nullish().catch(null),
            reasoning: z.string().nullish().catch(null),
          })
          .optional(),
        text: z.string().nullish(),
        finish_reason: z.string().nullish(),
      }),
    )
    .min(1),
  usage: z
    .looseObject({ completion_tokens: z.number().int().min(0) })
    .nullish()
    .catch(null),
})

type RawChoice = z.infer<typeof schema>['choices'][number]

/** Names that servers give to the token limit. */
const truncated = ['length', 'max_tokens', 'model_length']

/** Throws FailedReply where the reply is no completion: an error in the clothes of a success, or something else. */
export function readReply(reply: unknown): Reply {
  const failure = z.looseObject({ error: z.unknown() }).safeParse(reply)
  if (failure.success && failure.data.error) throw failureOf(failure.data.error)
  const parsed = schema.safeParse(reply)
  if (!parsed.success) throw new UselessReply(faultOf(reply, parsed.error.issues[0]!.path))
  const bare = parsed.data.choices.findIndex(({ message, text }) => !message && typeof text !== 'string')
  if (bare >= 0) throw new UselessReply(`its key choices.${bare} holds neither message nor text`)
  const choices = [...parsed.data.choices].sort((a, b) => (a.index ?? 0) - (b.index ?? 0))
  const broken = choices.find(({ finish_reason }) => finish_reason === 'error' || finish_reason === 'abort')
  if (broken) throw new FailedReply(502, `finish_reason ${broken.finish_reason}`)
  const texts = choices.map(textOf)
  const total = parsed.data.usage?.completion_tokens
  const counts = total === undefined ? texts.map(({ length }) => Math.ceil(length / 4)) : split(total, texts)
  return {
    counted: total !== undefined,
    empty: parsed.data.choices.filter(isEmpty).length,
    choices: choices.map(({ finish_reason }, i) => ({
      text: texts[i]!,
      tokens: counts[i]!,
      stop: truncated.includes(finish_reason ?? '') ? 'length' : 'stop',
    })),
  }
}

/** Names the key, as far as it is there, and what it holds. */
function faultOf(reply: unknown, path: PropertyKey[]): string {
  let value = reply
  for (const key of path) value = (value as Record<PropertyKey, unknown> | null | undefined)?.[key]
  const holds = value === undefined ? 'is missing' : `holds ${kindOf(value)}`
  return path.length === 0 ? `it ${holds}` : `its key ${path.join('.')} ${holds}`
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function isEmpty(choice: RawChoice): boolean {
  return choice.message !== undefined && choice.message.content == null && textOf(choice) === ''
}

function failureOf(error: unknown): FailedReply {
  const { code, message } = (typeof error === 'object' ? error : {}) as Record<string, unknown>
  const status = typeof code === 'number' && code >= 400 && code < 600 ? code : 502
  return new FailedReply(status, typeof message === 'string' ? message : JSON.stringify(error))
}

/** A thinking part that came in a field of its own goes in front, between the tags that local models write. */
function textOf({ message, text, finish_reason }: RawChoice): string {
  if (message === undefined) return text ?? ''
  const parts =
    typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : (message.content ?? [])
  const said = parts.map(({ type, text }) => (type === 'text' ? (text ?? '') : '')).join('')
  const thought =
    message.reasoning_content ||
    message.reasoning ||
    parts.map((part) => ('thinking' in part ? thinkingOf(part.thinking) : '')).join('')
  if (thought === '') return said
  const unfinished = said === '' && truncated.includes(finish_reason ?? '')
  return `<think>\n${thought}${unfinished ? '' : `\n</think>\n\n${said}`}`
}

/** Plain text, or a list of text parts. */
function thinkingOf(thinking: unknown): string {
  if (typeof thinking === 'string') return thinking
  if (!Array.isArray(thinking)) return ''
  return thinking.map((part) => (typeof part?.text === 'string' ? part.text : '')).join('')
}

/** Usage is a sum over choices: each gets its share by length of text, the largest remainders made whole. */
function split(total: number, texts: string[]): number[] {
  const all = texts.reduce((sum, { length }) => sum + length, 0)
  const exact = texts.map(({ length }) => total * (all > 0 ? length / all : 1 / texts.length))
  const counts = exact.map(Math.floor)
  const rest = total - counts.reduce((sum, count) => sum + count, 0)
  const byRemainder = exact.map((share, i) => [share - counts[i]!, i] as const).sort(([a], [b]) => b - a)
  for (const [, i] of byRemainder.slice(0, rest)) counts[i]!++
  return counts
}
