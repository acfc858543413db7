import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folders.js'
import { openAiServer } from '../../../../test/support/openai-server.js'
import type { Reference } from '../references.js'
import { labelByEndpoint, readLabel } from './endpoint.js'

const slices = ['one', 'two', 'three'].map((shown): Reference => ({ question: 'q', shown, from: 0 }))
const answer = (content: string) =>
  content.includes('two')
    ? 'It fails.\n**NO**\nTwo is not one.'
    : content.includes('three')
      ? 'unsure'
      : '**YES**'

interface Given {
  signal?: AbortSignal
  slices?: Reference[]
  progress?: (done: number) => void
}

async function label(file: string, url: string, given: Given = {}) {
  return labelByEndpoint(given.slices ?? slices, {
    file,
    settings: {
      url,
      model: 'test-model',
      api_key_env: 'NO_SUCH_KEY',
      concurrency: 1,
      max_tokens: 64,
      temperature: 0,
    },
    prompt: ({ shown }) => ({ messages: [{ role: 'user', content: shown }] }),
    seed: 1,
    signal: given.signal ?? new AbortController().signal,
    progress: given.progress ?? (() => {}),
  })
}

const service = () => openAiServer({ answer: ({ messages }) => [answer(messages!.at(-1)!.content)] })

describe('labelByEndpoint', () => {
  it('reads analysis, verdict and rationale; a reply without a verdict is no label', async () => {
    const { url } = await service()
    const labels = await label(join(temporaryFolder(), 'labels.jsonl'), url)
    expect(labels).toEqual([
      { question: 'q', shown: 'one', verdict: 1, analysis: '', rationale: '' },
      { question: 'q', shown: 'two', verdict: 0, analysis: 'It fails.', rationale: 'Two is not one.' },
    ])
  })

  it('asks for nothing twice, in this run or another', async () => {
    const server = await service()
    const file = join(temporaryFolder(), 'deep', 'labels.jsonl')
    const first = await label(file, server.url)
    expect(server.seen).toHaveLength(3)
    const more = [...slices, { question: 'q', shown: 'four', from: 0 }]
    const second = await label(file, server.url, { slices: more })
    expect(server.seen).toHaveLength(4)
    expect(second.slice(0, 2)).toEqual(first)
    expect(await label(file, 'http://localhost:1', { slices: more })).toEqual(second)
  })

  it('keeps what was answered before it was interrupted, and drops half a line', async () => {
    const stuck = await openAiServer({
      answer: ({ messages }) => [answer(messages!.at(-1)!.content)],
      fault: (i) => (i === 2 ? { kind: 'silent' } : undefined),
    })
    const file = join(temporaryFolder(), 'labels.jsonl')
    const abort = new AbortController()
    const interrupted = label(file, stuck.url, {
      signal: abort.signal,
      progress: (done) => {
        if (done === 2) abort.abort()
      },
    })
    await expect(interrupted).rejects.toThrow()
    const kept = readFileSync(file, 'utf8')
    expect(kept.split('\n')).toHaveLength(3)
    writeFileSync(file, `${kept}{"question":"q","sho`)
    const server = await service()
    expect(await label(file, server.url)).toHaveLength(2)
    expect(server.seen).toHaveLength(1)
    expect(
      readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toHaveLength(3)
  })

  it('names a file that holds no labels', async () => {
    const file = join(temporaryFolder(), 'labels.jsonl')
    writeFileSync(file, '{"text":"else"}\n')
    await expect(label(file, 'http://localhost:1')).rejects.toMatchObject({ code: 'data' })
    expect(existsSync(file)).toBe(true)
  })
})

describe('readLabel', () => {
  it.each([
    ['All fine.\n\n**YES**\n\nIt holds.', 1, 'All fine.', 'It holds.'],
    ['**NO**. The sum is off.', 0, '', 'The sum is off.'],
    ['fine: YES', 1, 'fine:', ''],
  ])('of %j', (reply, verdict, analysis, rationale) => {
    expect(readLabel(reply)).toEqual({ verdict, analysis, rationale })
  })

  it('of a reply without a verdict is none', () => {
    expect(readLabel('maybe')).toBeUndefined()
  })
})
