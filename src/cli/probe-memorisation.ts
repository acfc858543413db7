/** sparring probe memorisation: does a model know the questions of a run by heart? */
import { ConfigError } from '../core/errors.js'
import { continueQuestions, memorisationRows } from '../eval/memorisation.js'
import { questionsOfRun } from '../eval/memorisation-questions.js'
import { type Parts, parts as realParts } from '../runs/parts.js'
import { openModel } from './model.js'
import { claimFile } from './output.js'
import { finish, type ProbeFlags, print, say, shown } from './probe.js'
import { memorisationLines, memorisationPicture, type ProbedRun } from './probe-report.js'

export interface MemorisationFlags extends ProbeFlags {
  model: string
  role: string
  /** Per cent. */
  prefixes: number[]
  last?: number
  limit: number
}

export async function probeMemorisation(
  runs: string[],
  flags: MemorisationFlags,
  parts: Parts = realParts,
): Promise<void> {
  const { model: name, role, last, limit, seed, threads, out, json } = flags
  const tooMuch = flags.prefixes.find((prefix) => prefix >= 100)
  if (tooMuch !== undefined) {
    throw new ConfigError(`--prefixes ${tooMuch} leaves nothing of a question to continue.`, {
      hint: 'Give per cents from 1 to 99, such as 20,40,60,80.',
    })
  }
  if (out !== undefined) await claimFile(out)
  const sets = await Promise.all(runs.map((run) => questionsOfRun(run, { role, last, limit, seed })))
  const model = await openModel({ model: name, ...(threads !== undefined && { threads }) }, parts)
  const probed: ProbedRun[] = []
  try {
    for (const [i, run] of runs.entries()) {
      const { questions, different } = sets[i]!
      const continuations = await shown(`memorisation of ${run}`, (progress) =>
        continueQuestions(model.policy, questions, {
          prefixes: flags.prefixes.map((prefix) => prefix / 100),
          progress,
        }),
      )
      const rows = memorisationRows(continuations)
      if (rows.length === 0) {
        throw new ConfigError(`No question of ${run} has two tokens, which it takes to be cut.`)
      }
      probed.push({ run, role, different, questions: questions.length, rows })
      if (json) {
        for (const each of continuations) print({ event: 'continuation', run, ...each })
        for (const each of rows)
          print({ event: 'memorisation', run, model: model.folder, role, different, ...each })
      } else say(memorisationLines(probed.at(-1)!, model.folder))
    }
  } finally {
    await model.close()
  }
  await finish(out, () => memorisationPicture(probed, model.folder), { probe: 'memorisation', json })
}
