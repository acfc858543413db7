/**
 * A run in the layout that viewers of tinker-cookbook runs read. A run's own folder has config.json, metrics.jsonl and
 * checkpoints.jsonl where they look for them; what it has elsewhere are the rollouts, which they expect in
 * `iteration_NNNNNN/train_rollout_summaries.jsonl`.
 */
import { join } from 'node:path'
import { makeFolders } from '../../core/folders.js'
import { asWriteError, readJson, readText, stageFile, writeFileWhole } from '../../engine/hf/files.js'
import { folderName } from '../../runs/checkpoint.js'
import type { Rollout } from '../api/rollouts.js'
import { parseObject } from '../reader/lines.js'
import type { MetricsIndex } from '../reader/metrics.js'
import { eachRollout, type Source } from './source.js'

/** Lines that are written at once. */
const BATCH = 256

/** Writes the folder, which is made. Rows of metrics written. */
export async function writeCookbook(source: Source, folder: string): Promise<number> {
  const { root, metrics } = source
  await makeFolder(folder)
  const config = (await readJson(join(root, 'config.json'))) ?? {}
  const rounds = Number(config.rounds)
  // Whatever it says, a viewer takes a run whose config has a `loss_fn` for one of reinforcement learning.
  const isRl = metrics.names.some((name) => name.endsWith('/reward/mean'))
  const shown = { model_name: modelOf(config), ...(isRl && { loss_fn: config.game }), ...config }
  await writeFileWhole(join(folder, 'config.json'), `${JSON.stringify(shown, null, 2)}\n`)
  await writeLines(join(folder, 'metrics.jsonl'), metricsLines(metrics, rounds))
  const checkpoints = ((await readText(join(root, 'checkpoints.jsonl'))) ?? '')
    .split('\n')
    .flatMap((line) => {
      const row = parseObject(line)
      return row ? [{ ...row, ...(row.batch === rounds && { final: true }) }] : []
    })
  await writeLines(join(folder, 'checkpoints.jsonl'), checkpoints)
  await writeSummaries(source, folder)
  return metrics.rows
}

function modelOf({ roles }: Record<string, unknown>): string {
  const models = Object.values((roles ?? {}) as Record<string, { model?: unknown }>).map(({ model }) =>
    String(model),
  )
  return [...new Set(models)].join(', ')
}

function* metricsLines(metrics: MetricsIndex, rounds: number): Generator<object> {
  for (let row = 0; row < metrics.rows; row++) {
    const step = metrics.round(row)
    const told = metrics.names.flatMap((name) => {
      const value = metrics.written(name, row)
      return value === undefined ? [] : [[name, value]]
    })
    const progress = { 'progress/batch': step, 'progress/done_frac': step / rounds }
    yield { step, ...progress, ...Object.fromEntries(told) }
  }
}

/** One file a round for what the roles wrote, and one for the answers to each kind of yardstick. */
async function writeSummaries(source: Source, folder: string): Promise<void> {
  let round = -1
  let files = new Map<string, Summaries>()
  const flush = async () => {
    if (files.size === 0) return
    const place = join(folder, `iteration_${folderName(round)}`)
    await makeFolder(place)
    for (const [name, { rows }] of files)
      await writeLines(join(place, `${name}_rollout_summaries.jsonl`), rows)
    files = new Map()
  }
  for await (const { rollout } of eachRollout(source)) {
    if (rollout.round !== round) {
      await flush()
      round = rollout.round
    }
    const name = rollout.trained === null ? `eval_${rollout.role}` : 'train'
    const file = files.get(name) ?? new Summaries(name)
    files.set(name, file)
    file.add(rollout)
  }
  await flush()
}

/** Groups are counted over all roles, since a viewer finds a rollout by its group and its place in it. */
class Summaries {
  readonly rows: object[] = []
  readonly #split: string
  readonly #groups = new Map<string, { group: number; members: number }>()

  constructor(split: string) {
    this.#split = split
  }

  add(rollout: Rollout): void {
    const { round, role, line, group, tokens, reward, advantage, prompt, text, parts, outcome, stop } =
      rollout
    const key = `${role} ${group ?? line}`
    const place = this.#groups.get(key) ?? { group: this.#groups.size, members: 0 }
    this.#groups.set(key, place)
    const isNumber = ([, part]: [string, unknown]) => typeof part === 'number' || typeof part === 'boolean'
    const all = Object.entries(parts)
    const numbers = all.filter(isNumber).map(([name, part]) => [name, Number(part)])
    const texts = all.filter((entry) => !isNumber(entry))
    const metrics = { ...Object.fromEntries(numbers), ...(advantage !== null && { advantage }) }
    this.rows.push({
      schema_version: 1,
      split: this.#split,
      iteration: round,
      group_idx: place.group,
      traj_idx: place.members++,
      tags: [role],
      total_reward: reward ?? 0,
      final_reward: 0,
      trajectory_metrics: metrics,
      steps: [
        {
          step_idx: 0,
          ob_len: null,
          ac_len: tokens,
          reward: reward ?? 0,
          episode_done: true,
          metrics,
          logs: { prompt, text, stop, outcome, ...Object.fromEntries(texts) },
        },
      ],
      final_ob_len: null,
    })
  }
}

async function makeFolder(folder: string): Promise<void> {
  await makeFolders(folder).catch((error) => {
    throw asWriteError(folder, error)
  })
}

async function writeLines(path: string, rows: Iterable<object>): Promise<void> {
  const file = await stageFile(path, async (write) => {
    const lines: string[] = []
    for (const row of rows) {
      lines.push(`${JSON.stringify(row)}\n`)
      if (lines.length === BATCH) await write(Buffer.from(lines.splice(0).join('')))
    }
    await write(Buffer.from(lines.join('')))
  })
  await file.publish()
}
