/** sparring probe entropy: how sure a model is of its tokens, where it is right and where it is wrong. */
import { relative } from 'node:path'
import { ConfigError } from '../core/errors.js'
import { type LoadedBenchmark, loadBenchmark } from '../eval/benchmarks/load.js'
import { benchmarks } from '../eval/benchmarks/registry.js'
import { type EntropyRecord, entropySpreads } from '../eval/entropy.js'
import { probeEntropy } from '../eval/entropy-probe.js'
import { answerJudge } from '../eval/judge.js'
import { type Protocol, protocolOf } from '../eval/protocols.js'
import { type Parts, parts as realParts } from '../runs/parts.js'
import { type FoundModel, findModel, findStart, isRun, openModel } from './model.js'
import { claimFile } from './output.js'
import { finish, type ProbeFlags, print, say, shown } from './probe.js'
import { entropyLines, entropyPicture, type ProbedModel } from './probe-report.js'

export interface EntropyFlags extends ProbeFlags {
  benchmark: string
  data?: string
  offline?: boolean
  protocol?: string
  samples: number
  temperature: number
  topP: number
  maxTokens?: number
  role?: string
}

export async function probeEntropies(
  names: string[],
  flags: EntropyFlags,
  parts: Parts = realParts,
): Promise<void> {
  const { temperature, topP, out, json } = flags
  if (temperature === 0) {
    throw new ConfigError('--temperature 0 leaves one token to choose from: every entropy would be 0.', {
      hint: 'Leave it out for 0.6, or give a temperature above 0.',
    })
  }
  if (out !== undefined) await claimFile(out)
  const subjects = await findSubjects(names, flags.role, parts)
  const benchmark = await load(flags, parts)
  const published = benchmarks.some((each) => each.name === benchmark.name)
  const usual = published && !names.some(isRun) ? 'gar' : 'game'
  const probed: ProbedModel[] = []
  for (const subject of subjects) {
    const records = await probe(subject, benchmark, protocolFor(subject, usual, flags), flags, parts)
    const model: ProbedModel = { name: subject.name, folder: shownPath(subject.folder), records }
    probed.push(model)
    if (json) for (const record of records) print({ event: 'answer', which: model.name, ...record })
  }
  if (json) {
    for (const { name, folder, records } of probed) {
      for (const spread of entropySpreads(records))
        print({ event: 'entropy', which: name, model: folder, ...spread })
    }
  } else {
    const problems = benchmark.problems.length
    say(entropyLines(probed, { benchmark: benchmark.name, problems, temperature, topP }))
  }
  await finish(out, () => entropyPicture(probed, { temperature, topP }), { probe: 'entropy', json })
}

async function load(
  { benchmark: name, data, limit, offline }: EntropyFlags,
  parts: Parts,
): Promise<LoadedBenchmark> {
  const { heldoutProblems } = parts
  const note = (text: string) => process.stderr.write(`${text}\n`)
  const benchmark = await loadBenchmark(name, { data, limit, offline, heldoutProblems, note })
  if (benchmark.kind !== 'code') return benchmark
  throw new ConfigError(
    `The answers of ${name} are programs, and only answers that are compared are probed.`,
    {
      hint: 'Take a benchmark of mathematics or of choices.',
    },
  )
}

function protocolFor({ prompt }: Subject, usual: string, flags: EntropyFlags): Protocol {
  const { protocol = usual, samples, temperature, topP, maxTokens, seed } = flags
  const changes = { samples, temperature, topP, seed, ...(maxTokens !== undefined && { maxTokens }) }
  return protocolOf(protocol, prompt, changes)
}

async function probe(
  { name, folder }: Subject,
  { problems }: LoadedBenchmark,
  protocol: Protocol,
  { threads }: EntropyFlags,
  parts: Parts,
): Promise<EntropyRecord[]> {
  const { code: _, ...rules } = protocol.grader
  const judge = answerJudge(await parts.createGrader(rules))
  try {
    const model = await openModel({ model: folder, ...(threads !== undefined && { threads }) }, parts)
    try {
      return await shown(`entropy ${name}`, (progress) =>
        probeEntropy(model.policy, problems, { protocol, judge, progress }),
      )
    } finally {
      await model.close()
    }
  } finally {
    await judge.close()
  }
}

interface Subject extends FoundModel {
  /** What the tables call it. */
  name: string
}

/** Two models, or a run's start and end. All are asked as a run's game asks, where one of them is of a run. */
async function findSubjects(names: string[], role: string | undefined, parts: Parts): Promise<Subject[]> {
  if (names.length > 2) {
    throw new ConfigError(`${names.length} models are more than a before and an after.`, {
      hint: 'Name one run, or two models.',
    })
  }
  const [first] = names as [string]
  if (names.length === 1 && isRun(first)) {
    const after = await findModel({ model: first, ...(role !== undefined && { role }) }, parts)
    return [
      { ...(await findStart(first, role, parts)), name: 'before' },
      { ...after, name: 'after' },
    ]
  }
  const takesRole = (model: string) => role !== undefined && (isRun(model) || !names.some(isRun))
  const found = await Promise.all(
    names.map((model) => findModel({ model, ...(takesRole(model) && { role: role! }) }, parts)),
  )
  const game = found[names.findLastIndex(isRun)]
  return found.map(({ folder, prompt }, i) => ({
    folder,
    prompt: isRun(names[i]!) ? prompt : (game?.prompt ?? prompt),
    name: names.length === 1 ? 'model' : ['before', 'after'][i]!,
  }))
}

/** As short as it can be said: from the working folder, where the model lies in it. */
function shownPath(folder: string): string {
  const path = relative('.', folder)
  return path.startsWith('..') ? folder : path
}
