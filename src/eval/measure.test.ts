import { appendFileSync, existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../test/support/folders.js'
import { type ScriptOptions, scriptedAnswerer } from '../../test/support/scripted-answerer.js'
import { ConfigError, DataError, EngineError, type SparringError } from '../core/errors.js'
import type { LoadedBenchmark } from './benchmarks/load.js'
import type { BenchmarkProblem } from './benchmarks/problems.js'
import type { Judge } from './judge.js'
import { type Evaluation, finished, measure, partialPath } from './measure.js'
import { protocolFor, protocolOf } from './protocols.js'
import { type ResultsHead, readResults } from './results.js'

const N = 20
const SAMPLES = 3

const problems: BenchmarkProblem[] = Array.from({ length: N }, (_, i) => ({
  id: `p${i}`,
  kind: 'maths',
  problem: `Problem ${i}?`,
  answer: `${i}`,
  level: `${1 + (i % 2)}`,
}))

function evaluation(out: string, changes: object = {}, restricted = false): Evaluation {
  const benchmark: LoadedBenchmark = {
    name: 'made-up',
    kind: 'maths',
    problems,
    restricted,
    notes: [],
    data: { source: 'made up', files: [], unfit: 0, repeated: 0, sha256: 'x' },
  }
  const game = (problem: string) => ({ messages: [{ role: 'user' as const, content: problem }] })
  const protocol = protocolOf('pasodoble', game, { samples: SAMPLES, ...changes })
  const settings = {
    benchmark: { name: 'made-up', kind: 'maths' as const, problems: N },
    data: benchmark.data,
    model: { name: 'scripted' },
    protocol: protocolFor(protocol, new Set(['maths'])),
  }
  return { benchmark, settings, version: '1', out }
}

/** Right for the problem that was put, where (problem + sample) is divisible by 3; the sample shows in its seed alone. */
function answerer(options?: ScriptOptions) {
  return scriptedAnswerer((prompt, { seed }) => {
    const i = Number(/\d+/.exec(prompt)![0])
    return `thinking of seed ${seed} \\boxed{${seed % 3 === 0 ? i : 'wrong'}}`
  }, options)
}

function judge(hooks: { before?: () => void } = {}): Judge & { judged: number } {
  return {
    judged: 0,
    async judge({ answer }, text) {
      hooks.before?.()
      this.judged++
      const extracted = /\\boxed\{(.*)\}/.exec(text)?.[1] ?? null
      return { right: extracted === answer, extracted, reason: extracted === answer ? 'equal' : 'different' }
    },
    same: async (a, b) => a === b,
    close: async () => {},
  }
}

const newOut = () => join(temporaryFolder(), 'evals', 'made-up.json')

async function errorOf(work: Promise<unknown>): Promise<SparringError> {
  return (await work.then(
    () => undefined,
    (cause) => cause,
  )) as SparringError
}

/** Everything but the time it took, and when. */
function content(path: string): unknown {
  const { report, date, ...rest } = JSON.parse(readFileSync(path, 'utf8'))
  expect(date).toMatch(/^\d{4}-\d\d-\d\dT/)
  return { ...rest, report: { ...report, seconds: 0 } }
}

describe('an evaluation', () => {
  it('asks for every sample with a seed of its own and writes them all down', async () => {
    const out = newOut()
    const asked = answerer()
    const steps: [number, number][] = []
    const means = {
      answerer: asked,
      judge: judge(),
      progress: (...step: [number, number]) => steps.push(step),
    }
    const head = await measure(evaluation(out), means)
    expect(asked.asked.map(({ n }) => n)).toEqual(Array(N * SAMPLES).fill(1))
    expect(new Set(asked.asked.map(({ seed }) => seed)).size).toBe(N * SAMPLES)
    expect(steps.at(0)).toEqual([0, N * SAMPLES])
    expect(steps.at(-1)).toEqual([N * SAMPLES, N * SAMPLES])

    const file = JSON.parse(readFileSync(out, 'utf8'))
    expect(
      file.samples.map(({ problem, sample }: { problem: string; sample: number }) => `${problem}.${sample}`),
    ).toEqual(problems.flatMap(({ id }) => Array.from({ length: SAMPLES }, (_, sample) => `${id}.${sample}`)))
    for (const { text, extracted, right, problem } of file.samples) {
      expect(text).toContain(`\\boxed{${extracted}}`)
      expect(right).toBe(extracted === problem.slice(1))
    }
    const right = file.samples.filter((sample: { right: boolean }) => sample.right).length
    expect(head.report.accuracy).toBeCloseTo(right / (N * SAMPLES), 12)
    expect(file.report).toEqual(head.report)
    expect(file.problems[3]).toMatchObject({
      id: 'p3',
      answer: '3',
      level: '2',
      n: SAMPLES,
      problem: 'Problem 3?',
    })
    expect(file.settings.protocol).toMatchObject({
      name: 'pasodoble',
      samples: SAMPLES,
      temperature: 0.6,
      topP: 1,
    })
    expect(file.settings.protocol.prompt.maths.messages.at(-1)).toEqual({
      role: 'user',
      content: '{problem}',
    })
    expect(readdirSync(join(out, '..'))).toEqual(['made-up.json'])
    expect(await readResults(out)).toEqual(JSON.parse(JSON.stringify(head)))
  })

  it('leaves out the text of problems that may not be passed on', async () => {
    const out = newOut()
    await measure(evaluation(out, {}, true), { answerer: answerer(), judge: judge() })
    expect(JSON.parse(readFileSync(out, 'utf8')).problems[0]).not.toHaveProperty('problem')
  })

  it('that is finished is found again, and asks nothing', async () => {
    const out = newOut()
    expect(await finished(evaluation(out))).toBeUndefined()
    await measure(evaluation(out), { answerer: answerer(), judge: judge() })
    expect(await finished(evaluation(out))).toMatchObject({ report: { n: N } })
    const error = await errorOf(finished(evaluation(out, { temperature: 1 })))
    expect(error).toBeInstanceOf(ConfigError)
    expect(error.message).toBe(
      `${out} belongs to another evaluation: it has protocol.temperature 0.6 instead of 1.`,
    )
    expect(error.hint).toContain('--out')
  })

  it.each([0, 1, 29, 59])(
    'that failed after %i answers goes on without asking for any again',
    async (failAfter) => {
      const [whole, out] = [newOut(), newOut()]
      await measure(evaluation(whole), { answerer: answerer(), judge: judge() })
      const first = answerer({ failAfter })
      await expect(measure(evaluation(out), { answerer: first, judge: judge() })).rejects.toThrow('ends here')
      expect(existsSync(out)).toBe(false)
      const second = answerer()
      await measure(evaluation(out), { answerer: second, judge: judge() })
      const seeds = [...first.asked, ...second.asked].map(({ seed }) => seed)
      expect(seeds).toHaveLength(N * SAMPLES)
      expect(new Set(seeds).size).toBe(N * SAMPLES)
      expect(content(out)).toEqual(content(whole))
      expect(existsSync(partialPath(out))).toBe(false)
    },
  )

  it('repairs a file that was cut anywhere, and asks only for what is gone', async () => {
    const [whole, out] = [newOut(), newOut()]
    await measure(evaluation(whole), { answerer: answerer(), judge: judge() })
    await expect(
      measure(evaluation(out), { answerer: answerer({ failAfter: 12 }), judge: judge() }),
    ).rejects.toThrow()
    const path = partialPath(out)
    const bytes = readFileSync(path)
    for (const size of [0, 5, 900, 1500, bytes.length - 40, bytes.length - 1]) {
      writeFileSync(path, bytes)
      truncateSync(path, size)
      const left = readFileSync(path, 'utf8').split('\n').slice(0, -1)
      const kept = left.filter((line) => line.startsWith('{"answer"')).length
      const asked = answerer()
      await measure(evaluation(out), { answerer: asked, judge: judge() })
      expect(asked.asked).toHaveLength(N * SAMPLES - kept)
      expect(content(out)).toEqual(content(whole))
    }
  })

  it('grades what was answered but not graded, without asking again', async () => {
    const out = newOut()
    let left = 10
    const failing = judge({
      before: () => {
        if (left-- === 0) throw new Error('The grader fell over.')
      },
    })
    const first = answerer()
    await expect(measure(evaluation(out), { answerer: first, judge: failing })).rejects.toThrow('fell over')
    const [second, grading] = [answerer(), judge()]
    await measure(evaluation(out), { answerer: second, judge: grading })
    const [before, after] = [first, second].map(({ asked }) => asked.length)
    expect(before! + after!).toBeLessThanOrEqual(N * SAMPLES + 1)
    expect(failing.judged + grading.judged).toBeGreaterThanOrEqual(N * SAMPLES)
    expect(failing.judged + grading.judged).toBeLessThanOrEqual(N * SAMPLES + 10)
  })

  it('grades all anew under another version of Sparring, and asks for none anew', async () => {
    const out = newOut()
    await expect(
      measure(evaluation(out), { answerer: answerer({ failAfter: 40 }), judge: judge() }),
    ).rejects.toThrow()
    const [asked, grading] = [answerer(), judge()]
    const head = await measure({ ...evaluation(out), version: '2' }, { answerer: asked, judge: grading })
    expect(asked.asked).toHaveLength(N * SAMPLES - 40)
    expect(grading.judged).toBe(N * SAMPLES)
    expect(head.sparring).toBe('2')
  })

  it('refuses the samples of another evaluation', async () => {
    const out = newOut()
    await expect(
      measure(evaluation(out), { answerer: answerer({ failAfter: 4 }), judge: judge() }),
    ).rejects.toThrow()
    const before = readFileSync(partialPath(out))
    const error = await errorOf(
      measure(evaluation(out, { seed: 3, maxTokens: 9 }), { answerer: answerer(), judge: judge() }),
    )
    expect(error).toBeInstanceOf(ConfigError)
    expect(error.message).toMatch(
      /partial\.jsonl belongs to another evaluation: it has protocol\.seed 0 instead of 3 \(and 1 more difference\)/,
    )
    expect(readFileSync(partialPath(out))).toEqual(before)
  })

  it('leaves files alone that are not its own', async () => {
    const out = newOut()
    await measure(evaluation(out), { answerer: answerer(), judge: judge() })
    writeFileSync(partialPath(out), '{"mine": 1}\n')
    const error = await errorOf(measure(evaluation(out), { answerer: answerer(), judge: judge() }))
    expect(error).toBeInstanceOf(DataError)
    expect(readFileSync(partialPath(out), 'utf8')).toBe('{"mine": 1}\n')
    writeFileSync(out, '{"a": 1}')
    expect((await errorOf(finished(evaluation(out)))).message).toContain('is no results file')
  })

  it('ends when it is told to, and keeps what it has', async () => {
    const out = newOut()
    const abort = new AbortController()
    let left = 15
    const before = () => {
      if (left-- === 0) abort.abort()
    }
    const first = answerer({ before })
    const kept: number[] = []
    const means = {
      answerer: first,
      judge: judge(),
      signal: abort.signal,
      ended: (n: number) => kept.push(n),
    }
    const error = await errorOf(measure(evaluation(out), means))
    expect(error.name).toBe('AbortError')
    expect(kept).toEqual([first.asked.length])
    const second = answerer()
    await measure(evaluation(out), { answerer: second, judge: judge() })
    expect(first.asked.length + second.asked.length).toBe(N * SAMPLES)
  })

  it('says so when answers fail to come', async () => {
    const few = answerer()
    const { answer } = few
    few.answer = (requests, ...rest) => answer.call(few, requests.slice(5), ...rest)
    const error = await errorOf(measure(evaluation(newOut()), { answerer: few, judge: judge() }))
    expect(error).toBeInstanceOf(EngineError)
    expect(error.message).toBe('scripted gave 55 of 60 answers and no more.')
  })
})

describe('a results file', () => {
  it('can be read after another tool has written it anew', async () => {
    const out = newOut()
    const head = await measure(evaluation(out), { answerer: answerer(), judge: judge() })
    const all = JSON.parse(readFileSync(out, 'utf8'))
    for (const text of [JSON.stringify(all), JSON.stringify(all, null, 2)]) {
      writeFileSync(out, text)
      const { report, problems: counted } = (await readResults(out)) as ResultsHead
      expect([report, counted]).toEqual([head.report, head.problems])
    }
    appendFileSync(out, '}')
    await expect(readResults(out)).rejects.toThrow(/is no results file of sparring eval: /)
  })

  it.each<[string, (file: ReturnType<typeof JSON.parse>) => void, RegExp]>([
    [
      'right beyond n',
      ({ problems }) => Object.assign(problems[2], { right: 5 }),
      /problem p2 has 5 right of 3\.$/,
    ],
    [
      'another count',
      ({ problems }) => Object.assign(problems[0], { right: 3 - problems[0].right }),
      /problem p0 has \d right of 3, and its samples give \d of 3\.$/,
    ],
    [
      'another accuracy',
      ({ report }) => Object.assign(report, { accuracy: 0.9 }),
      /the report's accuracy is 0\.9, and its samples give 0\.\d+\.$/,
    ],
    [
      'another pass@2',
      ({ report }) => Object.assign(report.passAtK[1], { accuracy: 1 }),
      /report's passAtK is/,
    ],
    [
      'a sample less',
      ({ samples }) => samples.pop(),
      /problem p19 has \d right of 3, and its samples give \d of 2\.$/,
    ],
    ['a sample twice', ({ samples }) => samples.push(samples[4]), /problem p1 has sample 1 twice\.$/],
    [
      'a strange sample',
      ({ samples }) => Object.assign(samples[4], { problem: 'x' }),
      /of problem x, which is not/,
    ],
  ])('that contradicts itself is not believed: %s', async (_, change, message) => {
    const out = newOut()
    await measure(evaluation(out), { answerer: answerer(), judge: judge() })
    const all = JSON.parse(readFileSync(out, 'utf8'))
    change(all)
    writeFileSync(out, JSON.stringify(all))
    const error = await errorOf(readResults(out))
    expect(error).toBeInstanceOf(DataError)
    expect(error.message).toMatch(message)
    expect(error.message).toContain(`${out} contradicts itself: `)
  })

  it('that was changed in place or cut is not believed', async () => {
    const out = newOut()
    await measure(evaluation(out), { answerer: answerer(), judge: judge() })
    const text = readFileSync(out, 'utf8')
    writeFileSync(out, text.replace('"right":true,"extracted"', '"right":false,"extracted"'))
    expect((await errorOf(readResults(out))).message).toMatch(/contradicts itself: problem p\d+ has/)
    writeFileSync(out, text.slice(0, -200))
    expect((await errorOf(readResults(out))).message).toContain('is no results file of sparring eval: ')
  })

  it('has intervals as they are formed now', async () => {
    const out = newOut()
    const { report } = await measure(evaluation(out), { answerer: answerer(), judge: judge() })
    const text = readFileSync(out, 'utf8')
    writeFileSync(out, text.replace(`"low":${report.low}`, '"low":0'))
    expect(readFileSync(out, 'utf8')).not.toBe(text)
    expect((await readResults(out))!.report).toEqual(report)
  })
})
