/** sparring export: a role's newest checkpoint as a folder that other tools load. */
import { readdir } from 'node:fs/promises'
import { ConfigError } from '../core/errors.js'
import { type Parts, parts as realParts } from '../runs/parts.js'
import { findInRun, openModel } from './model.js'

export interface ExportFlags {
  out: string
  role?: string
  json?: boolean
}

export async function exportRole(
  run: string,
  { out, role, json }: ExportFlags,
  parts: Parts = realParts,
): Promise<void> {
  const held = await readdir(out).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return []
    throw new ConfigError(`${out} cannot be written as a folder: ${cause.message}.`, {
      hint: 'Name a new folder with --out.',
      cause,
    })
  })
  if (held.length > 0)
    throw new ConfigError(`${out} is not empty.`, { hint: 'Name a new folder with --out.' })
  const { folder } = await findInRun(run, role, parts)
  const model = await openModel({ model: folder }, parts)
  try {
    await model.policy.save(out, { optimizer: false })
  } finally {
    await model.close()
  }
  if (json) process.stdout.write(`${JSON.stringify({ event: 'done', checkpoint: folder, out })}\n`)
  else process.stdout.write(`${folder} -> ${out}\n`)
}
