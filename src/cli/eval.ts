/** sparring eval: accuracy of a model on problems with known answers. */
import { existsSync } from 'node:fs'
import { ConfigError } from '../core/errors.js'
import { nearest } from '../core/nearest.js'
import { type EvalProblem, type EvalReport, evaluate } from '../eval/evaluate.js'
import { policyAnswerer } from '../eval/policy-answerer.js'
import { type Parts, parts as realParts } from '../runs/parts.js'
import { type ModelFlags, openModel } from './model.js'
import { interval, percent } from './progress/format.js'

export interface EvalFlags extends ModelFlags {
  samples: number
  limit?: number
  temperature: number
  maxTokens: number
  seed: number
  json?: boolean
}

/** Problems of the arithmetic world where no limit is given: as many as a run's anchors take. */
const ARITHMETIC = 512

export async function evalCommand(
  benchmarks: string[],
  flags: EvalFlags,
  parts: Parts = realParts,
): Promise<void> {
  const started = performance.now()
  const sets = await Promise.all(benchmarks.map((name) => loadBenchmark(name, flags.limit, parts)))
  const model = await openModel(flags, parts)
  const grader = await parts.createGrader()
  const interrupt = new AbortController()
  const abort = () => interrupt.abort()
  process.once('SIGINT', abort)
  try {
    for (const [i, problems] of sets.entries()) {
      for (const sampling of flags.temperature === 0 ? ['greedy'] : ['sampled', 'greedy']) {
        const greedy = sampling === 'greedy'
        const { records: _, ...report } = await evaluate(policyAnswerer(model.policy), problems, {
          grader,
          prompt: model.prompt,
          samples: greedy ? 1 : flags.samples,
          temperature: greedy ? 0 : flags.temperature,
          maxTokens: flags.maxTokens,
          seed: flags.seed,
          signal: interrupt.signal,
          progress: (done, total) => showProgress(`${benchmarks[i]} ${sampling} ${done}/${total}`),
        })
        showProgress('')
        say(flags.json ?? false, benchmarks[i]!, sampling, report)
      }
    }
    const seconds = (performance.now() - started) / 1000
    if (flags.json)
      process.stdout.write(`${JSON.stringify({ event: 'done', model: model.folder, seconds })}\n`)
  } finally {
    process.off('SIGINT', abort)
    await grader.close()
    await model.close()
  }
}

async function loadBenchmark(name: string, limit: number | undefined, parts: Parts): Promise<EvalProblem[]> {
  if (name === 'arithmetic') return parts.heldoutProblems(name, limit ?? ARITHMETIC)
  if (!/[/\\.]/.test(name) && !existsSync(name)) {
    throw new ConfigError(`There is no benchmark ${name}.`, {
      hint: nearest(name, ['arithmetic'])
        ? 'Did you mean arithmetic?'
        : 'Name arithmetic, or a JSONL file of {problem, answer}.',
    })
  }
  return parts.readProblems(name, limit ?? Number.POSITIVE_INFINITY)
}

function say(json: boolean, benchmark: string, sampling: string, report: Omit<EvalReport, 'records'>): void {
  if (json) {
    process.stdout.write(`${JSON.stringify({ event: 'eval', benchmark, sampling, ...report })}\n`)
    return
  }
  const how =
    sampling === 'greedy' ? 'greedy' : `temperature ${report.temperature}, ${report.samples} a problem`
  const faults = `truncated ${percent(report.truncatedFrac)}, no answer ${percent(report.unansweredFrac)}`
  process.stdout.write(`${benchmark}  ${interval(report)}  ${report.n} problems, ${how}; ${faults}\n`)
}

/** One line on a terminal, written over and over. */
function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
}
