/**
 * Labels by a model behind an OpenAI-compatible service. What was answered lies in a file, a line a slice, and is never
 * asked for twice: an interrupted run goes on where it was, and another run finds the labels made.
 */
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'
import { DataError } from '../../../core/errors.js'
import { makeFolders } from '../../../core/folders.js'
import { Appender } from '../../../eval/appender.js'
import { byteLines } from '../../../eval/byte-lines.js'
import type { ChatPrompt } from '../../chat.js'
import type { Reference } from '../references.js'
import { readVerdict, type Verdict } from '../verdict.js'
import type { LabelledSlice } from './labels.js'

export interface EndpointSettings {
  url: string
  model: string
  api_key_env: string
  concurrency: number
  max_tokens: number
  temperature: number
}

const record = z.object({ question: z.string(), shown: z.string(), reply: z.string() })

/**
 * Labels slices from the file, and asks the service for those that it lacks. A reply is read as a verdict of the
 * discriminator is: the analysis stands before it, the rationale behind it. Slices whose reply holds no verdict have no
 * label.
 *
 * @param file JSONL of {question, shown, reply}; made where it is not there.
 * @param prompt how a slice is put to the service.
 * @param progress hears of labels done and wanted.
 */
export async function labelByEndpoint(
  slices: readonly Reference[],
  options: {
    file: string
    settings: EndpointSettings
    prompt: (slice: Reference) => ChatPrompt
    seed: number
    signal: AbortSignal
    progress: (done: number, total: number) => void
  },
): Promise<LabelledSlice[]> {
  const { file, settings, prompt, seed, signal, progress } = options
  const { replies, end } = await readReplies(file)
  const wanted = slices.filter((slice) => !replies.has(keyOf(slice)))
  if (wanted.length > 0) {
    const { openEndpoint } = await import('../../../eval/endpoint.js')
    const { url, model, api_key_env: apiKeyEnv, concurrency, max_tokens: maxTokens, temperature } = settings
    const service = openEndpoint({ url, model, apiKeyEnv, concurrency })
    await makeFolders(dirname(file))
    const kept = await Appender.open(file, end)
    try {
      const requests = wanted.map((slice, i) => ({ prompt: prompt(slice), n: 1, seed: (seed + i) % 2 ** 31 }))
      const params = { maxTokens, temperature, topP: 1, stop: [] }
      for await (const { request, text } of service.answer(requests, params, signal)) {
        const slice = wanted[request]!
        const { question, shown } = slice
        await kept.append({ question, shown, reply: text })
        replies.set(keyOf(slice), text)
        progress(replies.size, slices.length)
      }
    } finally {
      await kept.close()
      await service.close()
    }
  }
  return slices.flatMap((slice): LabelledSlice[] => {
    const label = readLabel(replies.get(keyOf(slice)) ?? '')
    return label ? [{ question: slice.question, shown: slice.shown, ...label }] : []
  })
}

/** Analysis, verdict and rationale of a reply, or undefined where it holds no verdict. */
export function readLabel(
  reply: string,
): { verdict: Verdict; analysis: string; rationale: string } | undefined {
  const read = readVerdict(reply)
  if (!read) return undefined
  const before = reply.slice(0, read.at).replace(/[\s*]+$/, '')
  const after = reply.slice(read.at + (read.verdict === 1 ? 3 : 2)).replace(/^[\s*.:]+/, '')
  return { verdict: read.verdict, analysis: before.trim(), rationale: after.trim() }
}

const keyOf = ({ question, shown }: { question: string; shown: string }) => JSON.stringify([question, shown])

/** Replies by slice, and the bytes of whole lines: a killed run may have left half a line behind them. */
async function readReplies(file: string): Promise<{ replies: Map<string, string>; end: number }> {
  const replies = new Map<string, string>()
  let end = 0
  if (!existsSync(file)) return { replies, end }
  for await (const { line, start, ended } of byteLines(file)) {
    if (!ended) break
    end = start + line.length + 1
    const { question, shown, reply } = parse(line.toString(), file)
    replies.set(keyOf({ question, shown }), reply)
  }
  return { replies, end }
}

function parse(line: string, file: string): z.output<typeof record> {
  try {
    return record.parse(JSON.parse(line))
  } catch (cause) {
    throw new DataError(`${file} holds a line that is no label.`, {
      hint: 'Labels are lines of {question, shown, reply}; name another file in endpoint.file.',
      cause,
    })
  }
}
