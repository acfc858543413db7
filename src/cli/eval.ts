/** sparring eval: accuracy of a model, or of a service, on problems with known answers. */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { ConfigError, messageOf } from '../core/errors.js'
import type { Answerer } from '../eval/answerer.js'
import { type LoadedBenchmark, loadBenchmark } from '../eval/benchmarks/load.js'
import { answerJudge, codeJudge, type Judge } from '../eval/judge.js'
import { type Evaluation, finished, measure, partialPath } from '../eval/measure.js'
import { policyAnswerer } from '../eval/policy-answerer.js'
import { passOf } from '../eval/report.js'
import type { ResultsHead } from '../eval/results.js'
import type { EvalSettings } from '../eval/settings.js'
import { takeLock } from '../runs/lock.js'
import { type Parts, parts as realParts } from '../runs/parts.js'
import { compareCommand } from './eval-compare.js'
import { checkFlags } from './eval-flags.js'
import { type EvalFlags, findSubject, plan, type Subject } from './eval-plan.js'
import { WaitingProgress } from './eval-progress.js'
import { reportLines } from './eval-report.js'
import { printable } from './failure.js'
import { openModel } from './model.js'
import { paint } from './paint.js'

export async function evalCommand(
  names: string[],
  flags: EvalFlags,
  parts: Parts = realParts,
): Promise<void> {
  checkFlags(names, flags)
  if (flags.compare) return compareCommand(flags.compare, flags.json ?? false)
  const started = performance.now()
  const interrupt = listenForEnd()
  try {
    const { signal } = interrupt
    const loaded: LoadedBenchmark[] = []
    for (const name of names) loaded.push(await load(name, flags, signal, parts))
    const subject = await findSubject(flags, parts)
    const evaluations = plan(loaded, subject, flags)
    const room = new Room(flags, subject, parts, signal)
    try {
      for (const evaluation of evaluations) {
        const kept = await finished(evaluation)
        if (kept) tell(sayKept(evaluation, kept))
        const head = kept ?? (await measureIn(room, evaluation, parts, signal))
        say(evaluation, head, flags, kept !== undefined)
      }
    } finally {
      await room.close()
    }
    const seconds = (performance.now() - started) / 1000
    if (flags.json) print({ event: 'done', model: subject.model.name, seconds })
  } finally {
    interrupt.close()
  }
}

function load(name: string, flags: EvalFlags, signal: AbortSignal, parts: Parts): Promise<LoadedBenchmark> {
  const { data, limit, offline } = flags
  const { heldoutProblems } = parts
  return loadBenchmark(name, { data, limit, offline, signal, heldoutProblems, note: tell })
}

async function measureIn(
  room: Room,
  evaluation: Evaluation,
  parts: Parts,
  signal: AbortSignal,
): Promise<ResultsHead> {
  const { benchmark, settings, out } = evaluation
  for (const sentence of benchmark.notes) tell(`note: ${sentence}`)
  const release = lock(out)
  const name = printable(`${benchmark.name} ${settings.protocol.name}`)
  const progress = new WaitingProgress(process.stderr, name, printable(named(settings.model)))
  room.warn = (sentence) => progress.note(sentence)
  let judge: Judge | undefined
  try {
    judge = await openJudge(settings, parts)
    const answerer = await room.answerer()
    const head = await measure(evaluation, {
      answerer,
      judge,
      signal,
      progress: (done, total) => progress.update(done, total),
      ended(kept, total) {
        progress.close()
        tell(
          `${kept} of ${total} samples are kept in ${partialPath(out)}: the same command goes on from there.`,
        )
      },
    })
    progress.close()
    for (const sentence of answerer.notes ?? []) tell(`note: ${sentence}`)
    return head
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    progress.close()
    await judge?.close()
    release()
  }
}

/** Throws GraderError before anything is asked where this machine cannot run programs. */
async function openJudge({ benchmark, protocol }: EvalSettings, parts: Parts): Promise<Judge> {
  const { code: limits, ...rules } = protocol.grader
  if (benchmark.kind !== 'code') return answerJudge(await parts.createGrader(rules))
  const { createCodeGrader } = await import('../grader/code/index.js')
  const grader = createCodeGrader({ ...(limits && { limits }) })
  const { text } = await grader.describe('python')
  tell(`programs: ${text}`)
  return codeJudge(grader)
}

/** What answers, opened when the first evaluation needs it. */
class Room {
  /** Where a service's troubles are said. */
  warn = tell
  #answerer: Answerer | undefined
  readonly #closing: (() => Promise<void>)[] = []

  constructor(
    private readonly flags: EvalFlags,
    private readonly subject: Subject,
    private readonly parts: Parts,
    private readonly signal: AbortSignal,
  ) {}

  async answerer(): Promise<Answerer> {
    this.#answerer ??= await this.#open()
    return this.#answerer
  }

  async close(): Promise<void> {
    for (const close of this.#closing.reverse()) await close()
  }

  async #open(): Promise<Answerer> {
    const { model, endpoint, role, threads, apiKeyEnv, concurrency } = this.flags
    if (endpoint !== undefined) {
      const { openEndpoint } = await import('../eval/endpoint.js')
      const service = openEndpoint({
        url: endpoint,
        model: model!,
        apiKeyEnv,
        concurrency,
        warn: (sentence) => this.warn(sentence),
      })
      this.#closing.push(() => service.close())
      return service
    }
    const flags = {
      model: model!,
      ...(role !== undefined && { role }),
      ...(threads !== undefined && { threads }),
    }
    const warn = (sentence: string) => this.warn(sentence)
    const opened = await openModel(flags, this.parts, { onWait: warn, onWarning: warn, signal: this.signal })
    this.#closing.push(() => opened.close())
    return policyAnswerer(opened.policy, this.subject.model.name)
  }
}

function say(
  { settings, benchmark, out }: Evaluation,
  head: ResultsHead,
  { k = [], json }: EvalFlags,
  kept: boolean,
): void {
  const { report, notes, date } = head
  const usual = report.passAtK.map((each) => each.k)
  const added = k
    .filter((each) => !usual.includes(each))
    .map((each) => ({ k: each, ...passOf(head.problems, each) }))
  const passAtK = [...report.passAtK, ...added].sort((a, b) => a.k - b.k)
  if (!json) {
    process.stdout.write(`${reportLines(head, passAtK, out).join('\n')}\n`)
    return
  }
  const { protocol, model } = settings
  const what = { benchmark: benchmark.name, protocol: protocol.name, model: model.name }
  const { temperature } = protocol
  const sampling = temperature === 0 ? 'greedy' : 'sampled'
  print({ event: 'eval', ...what, sampling, temperature, ...report, passAtK, notes, out, date, kept })
}

function sayKept({ out }: Evaluation, { settings, date }: ResultsHead): string {
  const of = date === undefined ? '' : ` of ${date}`
  return `These are the finished results of ${named(settings.model)}${of} in ${out}; nothing was asked.`
}

function named({ name, address }: EvalSettings['model']): string {
  return address === undefined ? name : `${name} at ${address}`
}

function lock(out: string): () => void {
  try {
    mkdirSync(dirname(out), { recursive: true })
    return takeLock(`${partialPath(out)}.lock`, out)
  } catch (cause) {
    if (cause instanceof ConfigError) {
      const hint = 'Wait for that process or stop it, or name another file with --out.'
      throw new ConfigError(cause.message, { hint, cause })
    }
    throw new ConfigError(`${out} cannot be written: ${messageOf(cause)}.`, {
      hint: 'Name another file with --out.',
      cause,
    })
  }
}

/** The first Ctrl-C (or a scheduler's SIGTERM) ends the asking; the second ends the process. */
function listenForEnd() {
  const abort = new AbortController()
  const hear = () => abort.abort()
  process.once('SIGINT', hear).once('SIGTERM', hear)
  return { signal: abort.signal, close: () => process.off('SIGINT', hear).off('SIGTERM', hear) }
}

function tell(text: string): void {
  const plain = printable(text)
  process.stderr.write(`${text.startsWith('note: ') ? paint(process.stderr, 'yellow', plain) : plain}\n`)
}

function print(event: object): void {
  process.stdout.write(`${JSON.stringify(event)}\n`)
}
