/** What a `sparring eval` command asks for, checked before anything is asked. */
import { ConfigError, DataError } from '../core/errors.js'
import type { LoadedBenchmark } from '../eval/benchmarks/load.js'
import { benchmarks } from '../eval/benchmarks/registry.js'
import { baseUrl } from '../eval/endpoint-address.js'
import type { Prompt } from '../eval/evaluate.js'
import type { Evaluation } from '../eval/measure.js'
import { type Changes, type Protocol, protocolFor, protocolOf } from '../eval/protocols.js'
import type { EvalSettings } from '../eval/settings.js'
import { weightsSum } from '../eval/weights.js'
import type { Parts } from '../runs/parts.js'
import { resultsPath } from './eval-path.js'
import { findModel, isRun } from './model.js'
import { packageVersion } from './version.js'

export interface EvalFlags extends Changes {
  /** Model folder or run; with `endpoint`, the name that the service gives the model. */
  model?: string
  role?: string
  threads?: number
  endpoint?: string
  apiKeyEnv?: string
  concurrency?: number
  protocol?: string
  data?: string
  offline?: boolean
  limit?: number
  /** pass@k to say beside the usual ones. */
  k?: number[]
  out?: string
  compare?: string[]
  json?: boolean
}

/** What is measured: weights in a folder, or a model of a service. */
export interface Subject {
  model: EvalSettings['model']
  /** How the game of its run puts problems, or bare. */
  prompt: Prompt
  /** Whether it is a role of a run. */
  plays: boolean
}

/** Of flags that `checkFlags` let pass. */
export async function findSubject(flags: EvalFlags, parts: Parts): Promise<Subject> {
  const { model: name = '', endpoint, role } = flags
  if (endpoint === undefined) {
    const model = { model: name, ...(role !== undefined && { role }) }
    const { folder, prompt } = await findModel(model, parts)
    const weights = await weightsSum(folder).catch((cause) => {
      throw new DataError(
        `The model folder ${folder} ${cause.code === 'ENOENT' ? 'does not exist' : `cannot be read: ${cause.message}`}.`,
        {
          hint: 'Give a folder in Hugging Face form: config.json, model.safetensors and tokenizer.json.',
          cause,
        },
      )
    })
    return { model: { name: folder, weights }, prompt, plays: isRun(name) }
  }
  const prompt: Prompt = (problem) => ({ messages: [{ role: 'user', content: problem }] })
  return { model: { name, address: baseUrl(endpoint) }, prompt, plays: false }
}

/** Everything that will be measured, checked before any of it is. */
export function plan(loaded: LoadedBenchmark[], subject: Subject, flags: EvalFlags): Evaluation[] {
  const { out, limit, k = [] } = flags
  if (out !== undefined && loaded.length > 1) {
    throw new ConfigError(`--out names one file, and there are ${loaded.length} benchmarks.`, {
      hint: 'Leave --out away, or evaluate one benchmark at a time.',
    })
  }
  const evaluations = loaded.flatMap((benchmark) =>
    protocolsFor(benchmark, subject, flags).map((name, place) => {
      const preset = protocolOf(name, subject.prompt)
      const changed = protocolOf(name, subject.prompt, changesOf(name, flags))
      const { problems } = benchmark
      const protocol = protocolFor(changed, new Set(problems.map(({ kind }) => kind)))
      for (const each of k) checkK(each, protocol)
      const settings = {
        benchmark: { name: benchmark.name, kind: benchmark.kind, problems: problems.length },
        data: benchmark.data,
        model: subject.model,
        protocol,
      }
      const path = resultsPath({ settings, preset, out, limit, place })
      return { benchmark, settings, version: packageVersion(), out: path }
    }),
  )
  checkApart(evaluations)
  return evaluations
}

/** Files of one name in two folders have results of one name. */
function checkApart(evaluations: Evaluation[]): void {
  const names = new Map<string, string>()
  for (const { out, benchmark } of evaluations) {
    const other = names.get(out)
    if (other !== undefined) {
      throw new ConfigError(`The results of ${other} and ${benchmark.name} would both go to ${out}.`, {
        hint: 'Evaluate them one at a time, each with a file of its own: --out FILE.',
      })
    }
    names.set(out, benchmark.name)
  }
}

/**
 * Where none is named: as the game puts problems, sampled and greedy, for a run, for its world and for the user's own
 * problems; greedy, with a prompt that asks for a box, for published sets and for services.
 */
function protocolsFor({ name }: LoadedBenchmark, { plays, model }: Subject, flags: EvalFlags): string[] {
  if (flags.protocol !== undefined) return [flags.protocol]
  const published = benchmarks.some((each) => each.name === name)
  if (model.address !== undefined || (published && !plays)) return ['greedy']
  return flags.temperature === 0 ? ['game-greedy'] : ['game', 'game-greedy']
}

/** The greedy twin of sampled answers keeps to one answer. */
function changesOf(
  name: string,
  { samples, temperature, topP, maxTokens, seed, protocol }: EvalFlags,
): Changes {
  const all = { samples, temperature, topP, maxTokens, seed }
  const twin = protocol === undefined && name === 'game-greedy'
  const kept = Object.entries(all).filter(
    ([key, value]) => value !== undefined && !(twin && ['samples', 'temperature'].includes(key)),
  )
  return Object.fromEntries(kept)
}

function checkK(k: number, { name, samples }: Protocol): void {
  if (k <= samples) return
  throw new ConfigError(`--k ${k} is more than the ${samples} samples that ${name} takes of a problem.`, {
    hint: `Give --samples ${k} or more.`,
  })
}
