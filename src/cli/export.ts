/** sparring export: a role's weights at a checkpoint, as a folder that other tools load. */
import { existsSync } from 'node:fs'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { DataError } from '../core/errors.js'
import {
  checkForm,
  checkTarget,
  type Exported,
  type ExportForm,
  type ExportOptions,
  exportWeights,
} from '../engine/hf/export.js'
import { asWriteError } from '../engine/hf/files.js'
import { requireSaved, savedFile } from '../engine/tinker/saved.js'
import { hubName, pulledModel } from '../hub/models.js'
import { type Parts, parts as realParts } from '../runs/parts.js'
import { findInRun } from './model.js'

export interface ExportFlags {
  to: string
  role?: string
  form?: ExportForm
  dtype: 'f32' | 'bf16'
  force?: boolean
  json?: boolean
}

export async function exportRole(named: string, flags: ExportFlags, parts: Parts = realParts): Promise<void> {
  const { to, role, form, force, json } = flags
  await checkTarget(to, force)
  const { run, round } = splitRound(named)
  const { folder } = await findInRun(run, role, parts, round)
  const dtype = flags.dtype === 'bf16' ? 'BF16' : 'F32'
  const exported = existsSync(join(folder, savedFile))
    ? await exportFetched(folder, to, { form, dtype, force })
    : await exportWeights(folder, to, { form, dtype, force })
  if (json) {
    const done = { event: 'done', checkpoint: folder, to, dtype: flags.dtype, ...exported }
    process.stdout.write(`${JSON.stringify(done)}\n`)
    return
  }
  const what = {
    folder: 'full weights',
    merged: `merged with ${exported.base}`,
    peft: `adapter of ${exported.base}`,
  }[exported.form]
  process.stdout.write(`${folder} -> ${to} (${what}, ${flags.dtype})\n`)
}

/** Weights that a server keeps: its adapter is fetched beside the export, and goes when that is made. */
export async function exportFetched(
  checkpoint: string,
  to: string,
  options: ExportOptions,
): Promise<Exported> {
  checkForm(checkpoint, true, options.form ?? 'peft')
  const { basesOf, fetchAdapter } = await import('../engine/tinker/fetch.js')
  const names = await basesOf(await requireSaved(checkpoint))
  const known = names.find((name) => existsSync(name) || pulledModel(name) !== undefined)
  if (options.form === 'merged' && known === undefined) throw withoutBase(checkpoint, names.at(-1)!)
  const fetched = await mkdtemp(`${resolve(to)}.fetched-`).catch((error) => {
    throw asWriteError(to, error)
  })
  const abort = new AbortController()
  const end = () => abort.abort()
  process.once('SIGINT', end).once('SIGTERM', end)
  try {
    const say = (text: string) => process.stderr.write(`${text}\n`)
    await fetchAdapter(checkpoint, fetched, {
      onWait: ({ what, seconds }) => say(`waiting ${Math.round(seconds)} s for ${what}`),
      onWarning: say,
      signal: abort.signal,
    }).finally(() => process.off('SIGINT', end).off('SIGTERM', end))
    abort.signal.throwIfAborted()
    return await exportWeights(fetched, to, { ...options, base: known ?? names[0] })
  } catch (error) {
    throw saidOf(checkpoint, error, [await realpath(fetched), fetched])
  } finally {
    await rm(fetched, { recursive: true, force: true })
  }
}

function withoutBase(checkpoint: string, base: string): DataError {
  return new DataError(`${checkpoint} is an adapter of ${base}, whose weights are not here.`, {
    hint:
      hubName(base) === undefined
        ? 'Put the model folder that the run file names for the role in its place, weights included.'
        : `Fetch them: sparring pull ${base}.`,
  })
}

/** Sentences speak of the checkpoint: where it was fetched to is gone by the time they are read. */
function saidOf(checkpoint: string, error: unknown, places: string[]): unknown {
  if (!(error instanceof Error)) return error
  for (const place of places) error.message = error.message.replaceAll(place, checkpoint)
  return error
}

/** RUN or RUN@N; a folder whose own name ends so is taken by that name. */
function splitRound(named: string): { run: string; round?: number } {
  const [, run, round] = /^(.+)@(\d+)$/.exec(named) ?? []
  if (run === undefined || existsSync(named)) return { run: named }
  return { run, round: Number(round) }
}
