/** Fetches the adapter of a saved policy from the server that keeps it, as a PEFT folder. */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, rename, rm } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { extract } from 'tar'
import { CheckpointError, messageOf, ServiceError } from '../../core/errors.js'
import { makeFolders } from '../../core/folders.js'
import { hubName, modelOrigin } from '../../hub/models.js'
import type { ConnectOptions, Service } from '../../tinker/client.js'
import { connect } from '../../tinker/service.js'
import { asWriteError } from '../hf/files.js'
import { requireSaved, type SavedPolicy } from './saved.js'
import { unloadMs } from './servers.js'

const files = ['adapter_config.json', 'adapter_model.safetensors']

/**
 * Puts the adapter into `to`, and says by which folder or names its model may be known here, the surest first. A place
 * for a model on the server is needed while it is fetched. Throws CheckpointError, and what the server is to blame for.
 */
export async function fetchAdapter(
  checkpoint: string,
  to: string,
  options: Pick<ConnectOptions, 'onWait' | 'onWarning' | 'signal' | 'patience'> = {},
): Promise<string[]> {
  const saved = await requireSaved(checkpoint)
  await makeFolders(to).catch((error) => Promise.reject(asWriteError(to, error)))
  const archive = join(to, 'archive.tar.gz')
  const service = await connect({
    baseUrl: saved.url,
    ...(saved.dialect && { dialect: saved.dialect }),
    settings: { url: `which keeps ${checkpoint}`, dialect: 'engine.dialect of the run' },
    ...options,
  })
  try {
    await downloadFrom(service, saved, archive)
  } finally {
    await service.close()
  }
  await unpack(archive, to, saved)
  return basesOf(saved)
}

/** The model folder of the run file comes first, unless it is known to be another of the Hub's models than was trained. */
export async function basesOf({ tokenizer: { folder, name }, base_model }: SavedPolicy): Promise<string[]> {
  const here = existsSync(folder)
  const origin = here ? (await modelOrigin(folder))?.model : undefined
  const named = name === undefined || isPath(name, folder) ? undefined : name
  const known = origin ?? named?.replace(/@[^@]*$/, '')
  // The tokenizer may be that of a sibling of the model that was trained.
  if (known !== undefined && hubName(base_model) && known !== base_model) return [base_model]
  const usable = here && ((await readdir(folder)).some(isWeights) || !hubName(base_model))
  return [...(usable ? [folder] : []), ...(named ? [named] : []), base_model]
}

const isWeights = (name: string) => name.endsWith('.safetensors')

/** Whether the run file named the model by its folder. */
const isPath = (name: string, folder: string) =>
  resolve(folder).replaceAll('\\', '/').endsWith(join('/', name).replaceAll('\\', '/').replace(/\/+$/, ''))

/** Servers give archives of sampler weights only, and checkpoints are training states: those are loaded and saved anew. */
async function downloadFrom(service: Service, saved: SavedPolicy, archive: string): Promise<void> {
  const session = await service.createSession({ tags: ['sparring', 'export'] })
  const { base_model: baseModel, rank, attention: trainAttention, mlp: trainMlp } = saved
  const spec = { baseModel, rank, trainAttention, trainMlp, trainUnembedding: false }
  const model = await session.createModel(spec)
  try {
    await model.loadWeights(saved.path, { optimizer: false })
    const name = `export-${randomBytes(4).toString('hex')}`
    const { path } = await model.saveWeightsForSampler(name)
    const listed = await service.checkpoints(model.id)
    const found = listed.find((each) => each.path === path || each.id.split('/').at(-1) === name)
    if (found === undefined) {
      throw new ServiceError(`${service.url} does not list the weights that it saved as ${path}.`, {
        hint: 'Run the same command again.',
        retryable: true,
      })
    }
    await service.downloadArchive(found, archive)
    await service.deleteCheckpoint(found).then(undefined, () => {})
  } finally {
    await model.unload({ deadlineMs: unloadMs }).then(undefined, () => {})
  }
}

async function unpack(archive: string, to: string, { url, path }: SavedPolicy): Promise<void> {
  try {
    await extract({ file: archive, cwd: to, filter: (name) => files.includes(basename(name)) })
    // Some servers may pack them in a folder.
    for (const place of await readdir(to, { recursive: true })) {
      if (files.includes(basename(place))) await rename(join(to, place), join(to, basename(place)))
    }
  } catch (cause) {
    throw new CheckpointError(`The archive of ${path} from ${url} cannot be unpacked: ${messageOf(cause)}.`, {
      hint: 'Run the same command again.',
      cause,
    })
  } finally {
    await rm(archive, { force: true })
  }
  const missing = files.find((name) => !existsSync(join(to, name)))
  if (missing === undefined) return
  throw new CheckpointError(`The archive of ${path} from ${url} holds no ${missing}.`, {
    hint: 'The server gave something else than a PEFT adapter.',
  })
}
