/** Adapters fetched from servers: how a trained policy leaves one. */
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { DataError } from '../../core/errors.js'
import { connect } from '../../tinker/service.js'
import { requireSaved } from './saved.js'
import { unloadMs } from './servers.js'

/**
 * Writes the adapter of a policy that was saved on a server into a folder, as PEFT reads it. The server loads the saved
 * weights into a model of their own for it. Throws CheckpointError where the folder holds no such policy, UserError
 * where the server gives no archives out.
 */
export async function fetchAdapter(saved: string, to: string): Promise<string[]> {
  const { url, path, base_model: baseModel, rank, attention, mlp } = await requireSaved(saved)
  const service = await connect({ baseUrl: url })
  const scratch = await mkdtemp(join(tmpdir(), 'sparring-archive-'))
  try {
    const session = await service.createSession({ tags: ['sparring'] })
    const spec = { baseModel, rank, trainAttention: attention, trainMlp: mlp, trainUnembedding: false }
    const model = await session.createModel(spec)
    try {
      await model.loadWeights(path, { optimizer: false })
      const name = `export-${randomBytes(4).toString('hex')}`
      await model.saveWeightsForSampler(name)
      const all = await service.checkpoints(model.id)
      const own = all.find(({ id, type }) => type === 'sampler' && id.split('/').at(-1) === name)
      if (!own) throw new DataError(`${url} saved ${name} of ${saved}, and does not list it.`)
      const file = join(scratch, 'adapter.tar.gz')
      await service.downloadArchive(own, file)
      await service.deleteCheckpoint(own).then(undefined, () => {})
      return await unpack(file, to)
    } finally {
      await model.unload({ deadlineMs: unloadMs }).then(undefined, () => {})
    }
  } finally {
    await service.close()
    await rm(scratch, { recursive: true, force: true })
  }
}

const wanted = /^adapter_(config\.json|model\.safetensors)$/
const blockBytes = 512

/** The adapter's files of a gzipped tar, wherever in it they lie. Throws DataError. */
async function unpack(archive: string, to: string): Promise<string[]> {
  const broken = (why: string) => new DataError(`The server's archive cannot be used: ${why}.`)
  const tar = await promisify(gunzip)(await readFile(archive)).catch((cause) => {
    throw broken(String(cause.message))
  })
  await mkdir(to, { recursive: true })
  const found: string[] = []
  for (let at = 0; at + blockBytes <= tar.length && tar[at] !== 0; ) {
    const name = basename(tar.toString('utf8', at, at + 100).split('\0', 1)[0]!)
    const bytes = sizeOf(tar.subarray(at + 124, at + 136))
    const start = at + blockBytes
    if (!(start + bytes <= tar.length)) throw broken(`${name} is cut off`)
    if (wanted.test(name)) {
      await writeFile(join(to, name), tar.subarray(start, start + bytes))
      found.push(name)
    }
    at = start + Math.ceil(bytes / blockBytes) * blockBytes
  }
  if (found.length < 2) throw broken('it lacks adapter_config.json or adapter_model.safetensors')
  return found
}

/** Octal text; of large files, a binary number marked by the first bit. */
function sizeOf(field: Buffer): number {
  if ((field[0]! & 0x80) === 0) return Number.parseInt(field.toString('latin1'), 8)
  return Number(field.readBigUInt64BE(4))
}
