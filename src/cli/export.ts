/** sparring export: a role's weights at a checkpoint, as a folder that other tools load. */
import { existsSync } from 'node:fs'
import { checkTarget, type ExportForm, exportWeights, requireWeights } from '../engine/hf/export.js'
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
  await requireWeights(folder)
  const dtype = flags.dtype === 'bf16' ? 'BF16' : 'F32'
  const exported = await exportWeights(folder, to, { form, dtype, force })
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

/** RUN or RUN@N; a folder whose own name ends so is taken by that name. */
function splitRound(named: string): { run: string; round?: number } {
  const [, run, round] = /^(.+)@(\d+)$/.exec(named) ?? []
  if (run === undefined || existsSync(named)) return { run: named }
  return { run, round: Number(round) }
}
