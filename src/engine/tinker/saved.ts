/**
 * A policy of a server on disk: where the server keeps it, and whose it is. Weights and optimizer stay on the server,
 * which takes none in; so a folder is as good as the server's memory.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { CheckpointError, DataError } from '../../core/errors.js'
import { makeFolders } from '../../core/folders.js'
import { pulledModel } from '../../hub/models.js'
import { dialectNames } from '../../tinker/profile.js'
import { asWriteError, readJson, writeFileWhole } from '../hf/files.js'

export const savedFile = 'tinker.json'

const schema = z.object({
  /** Server that keeps the weights. */
  url: z.string(),
  /** Its dialect, where that is certain. */
  dialect: z.enum(dialectNames).optional(),
  /** Its own name for them. */
  path: z.string(),
  /** Its name for the base model. */
  base_model: z.string(),
  rank: z.int().min(1),
  /** Layers that the adapter is on. */
  attention: z.boolean(),
  mlp: z.boolean(),
  /** Optimizer steps taken. */
  version: z.int().min(0),
  /** Whether training goes on with the optimizer's state. */
  optimizer: z.boolean(),
  /** Folder of the tokenizer, and the name under which it was pulled. */
  tokenizer: z.object({ folder: z.string(), name: z.string().optional() }),
})
export type SavedPolicy = z.output<typeof schema>

export async function writeSaved(folder: string, saved: SavedPolicy): Promise<void> {
  await makeFolders(folder).catch((error) => Promise.reject(asWriteError(folder, error)))
  await writeFileWhole(join(folder, savedFile), `${JSON.stringify(saved, null, 2)}\n`)
}

/** What a folder says; undefined where it holds no policy of a server. Throws DataError where it is damaged. */
export async function readSaved(folder: string): Promise<SavedPolicy | undefined> {
  const path = join(folder, savedFile)
  const json = await readJson(path)
  if (json === undefined) return undefined
  const result = schema.safeParse(json)
  if (result.success) return result.data
  const key = result.error.issues[0]!.path.join('.')
  throw new DataError(`${path} has no usable ${key}.`, { hint: 'It is damaged: take another checkpoint.' })
}

/** The same, of a folder that must hold one. Throws CheckpointError. */
export async function requireSaved(folder: string): Promise<SavedPolicy> {
  const saved = await readSaved(folder)
  if (saved) return saved
  throw new CheckpointError(`${folder} holds no policy of the Tinker engine: it has no ${savedFile}.`, {
    hint: 'Servers take no weights in: only what was saved on a server can be loaded there.',
  })
}

/** Folder of the tokenizer of a saved policy. Throws DataError. */
export function tokenizerFolder({ tokenizer: { folder, name } }: SavedPolicy, of: string): string {
  if (existsSync(folder)) return folder
  const pulled = name === undefined ? undefined : pulledModel(name, { weights: false })
  if (pulled) return pulled.folder
  throw new DataError(
    `The policy in ${of} speaks with the tokenizer of ${name ?? folder}, which is not there.`,
    {
      hint:
        name === undefined ? `Put the folder ${folder} in its place.` : `Fetch it: sparring pull ${name}.`,
    },
  )
}
