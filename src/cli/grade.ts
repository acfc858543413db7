/** sparring grade: verdicts on the predictions of a file, and how far they agree with those it holds. */
import { z } from 'zod'
import { ConfigError, DataError } from '../core/errors.js'
import { nearest } from '../core/nearest.js'
import { readJsonl } from '../data/jsonl.js'
import { methods } from '../grader/extract/index.js'
import type { Verdict } from '../grader/grader.js'
import { createGrader, type GraderOptions } from '../grader/index.js'

export interface GradeFlags {
  processes: number
  deadline: number
  tolerance: number
  unevaluated: string
  extract?: string
  json?: boolean
}

const text = z.union([z.string(), z.number().transform(String)], {
  error: 'must be text or a number',
})
const record = z.looseObject({
  id: text.optional(),
  gold: text,
  prediction: text,
  kind: z.enum(['response', 'answer']).optional(),
  choices: z.array(text).optional(),
  equal: z.boolean().optional(),
  disputed: z.boolean().optional(),
})
type Case = z.infer<typeof record>

/** Cases a process that are in the graders' hands at once: enough to keep it busy while the first is printed. */
const WINDOW = 32

/** Milliseconds between two lines of progress. */
const PROGRESS_EVERY = 5000

/** Verdicts come out in the order of the file, each as soon as those before it are there. */
export async function grade(file: string, flags: GradeFlags): Promise<void> {
  const grader = createGrader(options(flags))
  const tally = new Tally()
  const interrupt = new AbortController()
  const abort = () => interrupt.abort()
  process.once('SIGINT', abort)
  const started = performance.now()
  const print = (value: object, text: () => string) =>
    process.stdout.write(`${flags.json ? JSON.stringify(value) : text()}\n`)
  const progress = setInterval(() => {
    // Verdicts on a terminal are progress enough.
    if (!process.stdout.isTTY) process.stderr.write(`${tally.lines} graded\n`)
  }, PROGRESS_EVERY)
  const pending: { each: Case; verdict: Promise<Verdict[]> }[] = []
  const printNext = async () => {
    const { each, verdict } = pending[0]!
    const [found] = await untilAborted(verdict, interrupt.signal)
    pending.shift()
    const line = tally.add(each, found!)
    print(line, () => asText(line))
  }
  try {
    for await (const each of readJsonl(file, record)) {
      const verdict = grader.grade([asCase(each)])
      verdict.catch(() => {})
      pending.push({ each, verdict })
      if (pending.length >= WINDOW * flags.processes) await printNext()
    }
    while (pending.length > 0) await printNext()
    if (tally.lines === 0)
      throw new DataError(`${file} holds no cases.`, { hint: 'Each line must hold one JSON object.' })
  } finally {
    clearInterval(progress)
    process.off('SIGINT', abort)
    await grader.close()
    if (tally.lines > 0) {
      const summary = tally.summary((performance.now() - started) / 1000)
      print(summary, () => describe(summary, tally.wrong).join('\n'))
    }
  }
}

/** Throws the signal's reason as soon as it is given. */
function untilAborted<T>(value: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    value.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

function options({ processes, deadline, tolerance, unevaluated, extract }: GradeFlags): GraderOptions {
  if (unevaluated !== 'accept' && unevaluated !== 'refuse') {
    throw new ConfigError(`--unevaluated ${unevaluated} is neither accept nor refuse.`)
  }
  if (deadline <= 0) throw new ConfigError('--deadline must be more than 0 seconds.')
  const chosen = extract?.split(',').map((name) => {
    if (name.trim() === '')
      throw new ConfigError('--extract names no method.', { hint: `Choose of: ${methods.join(', ')}.` })
    const known = methods.find((method) => method === name.trim())
    if (known !== undefined) return known
    const guess = nearest(name.trim(), methods)
    throw new ConfigError(`--extract: there is no method ${name}.`, {
      hint: guess ? `Did you mean ${guess}?` : `Choose of: ${methods.join(', ')}.`,
    })
  })
  const common = { workers: processes, deadlineMs: deadline * 1000, tolerance, unevaluated } as const
  return chosen === undefined ? common : { ...common, extract: chosen }
}

const asCase = ({ gold, prediction, kind, choices }: Case) => ({
  gold,
  prediction,
  ...(kind && { kind }),
  ...(choices && { choices }),
})

interface Line extends Omit<Verdict, 'from'> {
  event: 'verdict'
  /** Number of the case in the file, from 1. */
  case: number
  id?: string
  from: string | null
  /** Whether the verdict is that of the file; absent where the file holds none. */
  agrees?: boolean
}

interface Summary {
  event: 'summary'
  /** Cases that are not marked as disputed. */
  n: number
  equal: number
  /** Over those of the n that hold a verdict; null where none does. */
  agree: number | null
  falseEqual: number | null
  falseDifferent: number | null
  timeouts: number
  errors: number
  disputed: number
  seconds: number
}

class Tally {
  lines = 0
  readonly wrong: { line: Line; each: Case }[] = []
  readonly #counts = {
    n: 0,
    equal: 0,
    labelled: 0,
    agree: 0,
    falseEqual: 0,
    timeouts: 0,
    errors: 0,
    disputed: 0,
  }

  add(each: Case, { ms, ...verdict }: Verdict): Line {
    const line: Line = {
      event: 'verdict',
      case: ++this.lines,
      ...(each.id !== undefined && { id: each.id }),
      ...verdict,
      from: verdict.from ?? null,
      ms: Number(ms.toFixed(3)),
      ...(each.equal !== undefined && { agrees: each.equal === verdict.equal }),
    }
    const counts = this.#counts
    if (verdict.reason === 'timeout') counts.timeouts++
    if (verdict.reason === 'error') counts.errors++
    if (each.disputed) {
      counts.disputed++
      return line
    }
    counts.n++
    if (verdict.equal) counts.equal++
    if (line.agrees === undefined) return line
    counts.labelled++
    if (line.agrees) counts.agree++
    else this.wrong.push({ line, each })
    if (!line.agrees && verdict.equal) counts.falseEqual++
    return line
  }

  summary(seconds: number): Summary {
    const { labelled, agree, falseEqual, n, equal, timeouts, errors, disputed } = this.#counts
    const known = labelled > 0
    return {
      event: 'summary',
      n,
      equal,
      agree: known ? agree : null,
      falseEqual: known ? falseEqual : null,
      falseDifferent: known ? labelled - agree - falseEqual : null,
      timeouts,
      errors,
      disputed,
      seconds: Number(seconds.toFixed(3)),
    }
  }
}

const short = (value: string | null, length: number) => {
  const line = (value ?? '').replace(/\p{Cc}+/gu, (found) => JSON.stringify(found).slice(1, -1))
  return line.length > length ? `${line.slice(0, length - 1)}…` : line
}

function asText({ case: number, equal, extracted, reason, from, ms, agrees }: Line): string {
  const verdict = equal ? 'equal' : 'different'
  const why = reason === verdict ? '' : ` (${reason})`
  const mark = agrees === false ? '  DISAGREES' : ''
  const taken = extracted === null ? 'nothing taken' : `${short(extracted, 60)}  [${from ?? 'unknown'}]`
  return `${String(number).padStart(5)}  ${`${verdict}${why}`.padEnd(9)}  ${taken}  ${ms.toFixed(1)} ms${mark}`
}

function describe(summary: Summary, wrong: { line: Line; each: Case }[]): string[] {
  const { n, equal, agree, falseEqual, falseDifferent, timeouts, errors, disputed, seconds } = summary
  const aside = disputed > 0 ? `, ${disputed} disputed ones apart` : ''
  const faults = timeouts + errors > 0 ? `; ${timeouts} timed out, ${errors} errors` : ''
  const head = `${n} graded in ${seconds.toFixed(1)} s${aside}: ${equal} equal${faults}`
  if (agree === null) return [head]
  const labelled = agree + (falseEqual ?? 0) + (falseDifferent ?? 0)
  const share = ((100 * agree) / labelled).toFixed(2)
  return [
    head,
    `${agree} of ${labelled} agree with the file (${share} %); ${falseEqual} wrongly equal, ${falseDifferent} wrongly different`,
    ...wrong.map(({ line, each }) => {
      const { case: number, equal: got, extracted } = line
      return `  case ${number}: gold ${short(each.gold, 60)}, taken ${short(extracted, 60)}: ${got ? 'equal' : 'different'}`
    }),
  ]
}
