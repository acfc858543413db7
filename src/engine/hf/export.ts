/** Writes a policy's weights as a folder that other tools load: tensor by tensor, so that no engine is needed and no second copy. */
import { readdir, realpath, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { ConfigError, DataError } from '../../core/errors.js'
import { makeFolders } from '../../core/folders.js'
import { hubName, modelOrigin } from '../../hub/models.js'
import { readModelConfig } from './config.js'
import { asWriteError, errorCode, type JsonObject, readJson, writeFileWhole } from './files.js'
import { baseFolder, isAdapter, loraPairs, openAdapter, readAdapterConfig } from './lora.js'
import { checkParameters, modelParameters } from './parameters.js'
import { openSafetensors, type TensorFile, writeSafetensors } from './safetensors.js'
import { copySettings, declareType } from './settings.js'

/** folder: full weights; merged: an adapter added to its model; peft: the adapter alone. */
export type ExportForm = 'folder' | 'merged' | 'peft'

export interface ExportOptions {
  /** @default folder for full weights, peft for an adapter */
  form?: ExportForm | undefined
  /** @default 'F32', in which weights are trained */
  dtype?: 'F32' | 'BF16' | undefined
  /** Folder or name of an adapter's model. @default as the adapter says */
  base?: string | undefined
  /** Take the place of a model or an adapter that the folder holds. */
  force?: boolean | undefined
}

export interface Exported {
  form: ExportForm
  /** Model that an adapter stands on, as written into it or merged with. */
  base?: string
}

/**
 * Exports the weights in `from`, a model folder or a PEFT adapter, to the folder `to`, whole or not at all. Throws
 * ConfigError (a form that the weights do not have, a folder that holds something), DataError (the weights or their
 * model cannot be read) or CheckpointError (the disk refuses, or there are no weights).
 */
export async function exportWeights(
  from: string,
  to: string,
  { form, dtype = 'F32', base: given, force = false }: ExportOptions = {},
): Promise<Exported> {
  const adapter = await isAdapter(from)
  const chosen = form ?? (adapter ? 'peft' : 'folder')
  checkForm(from, adapter, chosen)
  await checkTarget(to, force)
  const target = resolve(to)
  const aside = `${target}.partial`
  await rm(aside, { recursive: true, force: true })
  try {
    await makeFolders(aside).catch((cause) => Promise.reject(refusal(to, cause)))
    const exported = { folder: exportFolder, merged: exportMerged, peft: exportAdapter }[chosen]
    const base = await exported(await realpath(from), aside, { dtype, base: given })
    await publish(aside, target)
    return { form: chosen, ...(base !== undefined && { base }) }
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
}

interface Inner {
  dtype: 'F32' | 'BF16'
  base: string | undefined
}

/** Throws ConfigError where weights of that kind cannot be exported in that form. */
export function checkForm(from: string, adapter: boolean, form: ExportForm): void {
  if (adapter === (form !== 'folder')) return
  const [what, forms] = adapter
    ? ['an adapter', 'peft, or merged to have it added to its model']
    : ['full weights', 'folder']
  throw new ConfigError(`${from} holds ${what}, which cannot be exported as ${form}.`, {
    hint: `Take --form ${forms}.`,
  })
}

/** Throws ConfigError where an export to the folder would overwrite something, with `force` something else than an earlier export. */
export async function checkTarget(named: string, force = false): Promise<void> {
  const held = await readdir(named).catch((cause): string[] => {
    if (errorCode(cause) === 'ENOENT') return []
    throw refusal(named, cause)
  })
  if (held.length === 0) return
  if (!force) {
    throw new ConfigError(`${named} is not empty.`, {
      hint: 'Name a new folder with --to, or replace the model in it with --force.',
    })
  }
  const isModel = held.includes('config.json') || held.includes('adapter_config.json')
  if (isModel && !held.includes('policy.json') && !held.includes('checkpoints')) return
  throw new ConfigError(
    `${named} holds ${isModel ? 'a run or a checkpoint' : 'no model'}, which --force does not replace.`,
    {
      hint: 'Name a new folder with --to.',
    },
  )
}

/** ConfigError, or CheckpointError where only space is missing. */
function refusal(to: string, cause: Error): unknown {
  if (['ENOSPC', 'EDQUOT'].includes(errorCode(cause) ?? '')) return asWriteError(to, cause)
  return new ConfigError(`${to} cannot be written as a folder: ${cause.message}.`, {
    hint: 'Name a new folder with --to.',
    cause,
  })
}

async function exportFolder(from: string, to: string, { dtype }: Inner): Promise<undefined> {
  await writeModel(from, to, dtype, (_, values) => values)
}

async function exportMerged(from: string, to: string, { dtype, base: given }: Inner): Promise<string> {
  const { spec, folder: base } = await findBase(from, given)
  const config = await readModelConfig(base)
  const { tensors } = await openAdapter(from, config)
  try {
    const pairs = new Map(loraPairs(config, spec).map((pair) => [pair.weight, pair]))
    await writeModel(base, to, dtype, async (name, values) => {
      const pair = pairs.get(name)
      if (!pair) return values
      const [a, b] = [await tensors.read(pair.a.name), await tensors.read(pair.b.name)]
      return addProduct(values, a, b, spec.rank, spec.alpha / spec.rank)
    })
  } finally {
    await tensors.close()
  }
  return (await modelOrigin(base))?.model ?? base
}

/** As it is, whether its model is here or not: that of a service may be too large for this machine. */
async function exportAdapter(from: string, to: string, { dtype, base: given }: Inner): Promise<string> {
  const config = (await readJson(join(from, 'adapter_config.json')))!
  const named = given === undefined ? baseOf(config) : { baseModel: given }
  const folder = await realpath(baseFolder(from, named)).catch(() => undefined)
  const origin = folder === undefined ? undefined : await modelOrigin(folder)
  const baseModel = origin?.model ?? folder ?? named.baseModel
  const revision = origin?.commit ?? named.revision ?? null
  const file = await openSafetensors(from, 'adapter_model')
  try {
    const tensors = file
      .names()
      .map((name) => ({ name, shape: file.shape(name), data: () => file.read(name) }))
    await writeSafetensors(to, tensors, {
      base: 'adapter_model',
      maxShardBytes: Number.POSITIVE_INFINITY,
      dtype,
    })
  } finally {
    await file.close()
  }
  const written = { ...config, base_model_name_or_path: baseModel, revision }
  await writeFileWhole(join(to, 'adapter_config.json'), `${JSON.stringify(written, null, 2)}\n`)
  return baseModel
}

function baseOf({ base_model_name_or_path: name, revision }: JsonObject) {
  return {
    baseModel: typeof name === 'string' ? name : '',
    ...(typeof revision === 'string' && { revision }),
  }
}

async function findBase(adapter: string, given: string | undefined) {
  const { spec, ...own } = await readAdapterConfig(adapter)
  const named = given === undefined ? own : { baseModel: given }
  const folder = await realpath(baseFolder(adapter, named)).catch(() => undefined)
  if (folder !== undefined) return { spec, folder }
  throw new DataError(`The adapter ${adapter} stands on the model ${named.baseModel}, which is not there.`, {
    hint:
      hubName(named.baseModel) === undefined
        ? 'Put the model folder in its place, or correct base_model_name_or_path in adapter_config.json.'
        : `If it is one of the Hub, fetch it: sparring pull ${named.baseModel}.`,
  })
}

/** Every parameter of a model, changed on its way. */
async function writeModel(
  from: string,
  to: string,
  dtype: 'F32' | 'BF16',
  change: (name: string, values: Float32Array) => Float32Array | Promise<Float32Array>,
): Promise<void> {
  const config = await readModelConfig(from)
  const file: TensorFile = await openSafetensors(from)
  try {
    checkParameters(config, file)
    const tensors = modelParameters(config).map(({ name, shape }) => ({
      name,
      shape,
      data: async () => change(name, await file.read(name)),
    }))
    await writeSafetensors(to, tensors, { dtype })
  } finally {
    await file.close()
  }
  await copySettings(from, to)
  await declareType(to, dtype === 'F32' ? 'float32' : 'bfloat16')
}

/**
 * W + scale B A, of W [out, in], A [rank, in] and B [out, rank], in place: each entry is summed in double precision and
 * rounded once.
 */
export function addProduct(
  w: Float32Array,
  a: Float32Array,
  b: Float32Array,
  rank: number,
  scale: number,
): Float32Array {
  const width = a.length / rank
  const row = new Float64Array(width)
  for (let start = 0, out = 0; start < w.length; start += width, out++) {
    row.fill(0)
    for (let r = 0; r < rank; r++) {
      const factor = scale * b[out * rank + r]!
      for (let i = 0, at = r * width; i < width; i++, at++) row[i]! += factor * a[at]!
    }
    for (let i = 0; i < width; i++) w[start + i]! += row[i]!
  }
  return w
}

/** What an export may find in its folder of an earlier one, and must not mix with. */
const replaced =
  /^(model|adapter_model)(-\d{5}-of-\d{5})?\.safetensors(\.index\.json)?$|^(adapter_)?config\.json$/

async function publish(aside: string, target: string): Promise<void> {
  try {
    await makeFolders(target)
    for (const name of await readdir(target)) if (replaced.test(name)) await rm(join(target, name))
    for (const name of await readdir(aside)) await rename(join(aside, name), join(target, name))
  } catch (error) {
    throw asWriteError(target, error)
  }
}
