/**
 * Policies on disk. A full-weight policy is a Hugging Face model folder, an adapter a PEFT folder; beside the weights
 * lie `optimizer.safetensors` (Adam's moments) and `policy.json` (steps taken).
 */
import { realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { CheckpointError, DataError } from '../../core/errors.js'
import { makeFolders } from '../../core/folders.js'
import type { LoraSpec } from '../engine.js'
import { asWriteError, readJson, writeFileWhole } from '../hf/files.js'
import { baseFolder, isAdapter, openAdapter, readAdapterConfig, writeAdapter } from '../hf/lora.js'
import { openSafetensors, type TensorFile, type TensorToWrite, writeSafetensors } from '../hf/safetensors.js'
import { copySettings, declareType } from '../hf/settings.js'
import type { Model } from './model/model.js'
import type { Parameter, Parameters } from './model/weights.js'

export interface SavedPolicy {
  /** Model folder with configuration, tokenizer and base weights; for an adapter, where it says that it lies. */
  folder: string
  /** Present where the given folder holds an adapter. */
  adapter?: { folder: string; spec: LoraSpec }
  /** policy.json of the given folder, where it was written by `savePolicy`. */
  state?: { folder: string; version: number; steps: number; optimizer: boolean }
}

const adapterPrefix = 'base_model.model.'

/** Finds out what a folder holds. Throws DataError where it is no folder. */
export async function resolveFolder(given: string): Promise<SavedPolicy> {
  const folder = await realpath(given).catch(() => undefined)
  if (folder === undefined || !(await stat(folder)).isDirectory())
    throw new DataError(`The model folder ${given} does not exist.`, {
      hint: 'Give a folder in Hugging Face form: config.json, model.safetensors and tokenizer.json.',
    })
  if ((await readJson(join(folder, 'tinker.json'))) !== undefined)
    throw new DataError(`${given} holds the name of weights on a server, and no weights.`, {
      hint: 'Play it with the engine tinker, or fetch the adapter from the server.',
    })
  const json = await readJson(join(folder, 'policy.json'))
  const state = json && {
    folder,
    version: Number(json.version ?? 0),
    steps: Number(json.steps ?? 0),
    optimizer: json.optimizer === true,
  }
  if (!(await isAdapter(folder))) return { folder, ...(state && { state }) }
  const { spec, ...base } = await readAdapterConfig(folder)
  return { folder: baseFolder(folder, base), adapter: { folder, spec }, ...(state && { state }) }
}

export async function savePolicy(
  folder: string,
  source: string,
  model: Model,
  state: { version: number; steps?: number },
): Promise<void> {
  await makeFolders(folder).catch((error) => Promise.reject(asWriteError(folder, error)))
  if (model.lora) {
    const tensors = list(model.lora.adapter, (p) => ({
      name: adapterPrefix + p.name,
      shape: p.shape,
      data: p.data,
    }))
    await writeAdapter(folder, { spec: model.lora.spec, baseModel: source }, tensors)
  } else {
    await copySettings(source, folder)
    await declareType(folder, 'float32')
    await writeSafetensors(
      folder,
      list(model.base, (p) => ({ name: p.name, shape: p.shape, data: p.data })),
    )
  }
  const trained = [...model.trained.values()]
  const optimizer = state.steps !== undefined && trained.every((p) => p.training)
  if (optimizer)
    await writeSafetensors(
      folder,
      trained.flatMap((p) => [
        { name: `mean.${p.name}`, shape: p.shape, data: p.training!.mean },
        { name: `variance.${p.name}`, shape: p.shape, data: p.training!.variance },
      ]),
      { base: 'optimizer' },
    )
  await writeFileWhole(join(folder, 'policy.json'), `${JSON.stringify({ ...state, optimizer }, null, 2)}\n`)
}

const list = (parameters: Parameters, form: (parameter: Parameter) => TensorToWrite) =>
  [...parameters.values()].map(form)

/** Puts saved weights into a model of the same shape. */
export async function loadWeights(saved: SavedPolicy, model: Model): Promise<void> {
  const { adapter } = saved
  if (!model.lora) {
    if (adapter)
      throw new CheckpointError(`${adapter.folder} holds an adapter; this policy has full weights.`)
    const file = await openSafetensors(saved.folder)
    return readInto(file, model.base, (p) => [p.name, p.data])
  }
  if (!adapter || !sameSpec(adapter.spec, model.lora.spec))
    throw new CheckpointError(
      `${adapter?.folder ?? saved.folder} does not hold an adapter of this policy's shape.`,
    )
  const { tensors } = await openAdapter(adapter.folder, model.config)
  return readInto(tensors, model.lora.adapter, (p) => [adapterPrefix + p.name, p.data])
}

export const sameSpec = (a: LoraSpec, b: LoraSpec) =>
  a.rank === b.rank && a.alpha === b.alpha && [...a.targets].sort().join() === [...b.targets].sort().join()

/**
 * Puts saved weights and the optimizer's state into a model; without a saved state the optimizer starts anew. Gradients
 * that had accumulated belong to the weights before, and are dropped.
 */
export async function loadPolicy(
  saved: SavedPolicy,
  model: Model,
): Promise<{ version: number; steps: number }> {
  await loadWeights(saved, model)
  for (const { training } of model.trained.values()) {
    training?.gradient.data.fill(0 as never)
    training?.mean.fill(0)
    training?.variance.fill(0)
  }
  const { state } = saved
  if (!state?.optimizer) return { version: state?.version ?? 0, steps: 0 }
  model.prepareTraining()
  for (const moment of ['mean', 'variance'] as const) {
    const file = await openSafetensors(state.folder, 'optimizer')
    await readInto(file, model.trained, (p) => [`${moment}.${p.name}`, p.training![moment]])
  }
  return state
}

/** Reads every parameter from its tensor in the file, and closes the file. */
async function readInto(
  file: TensorFile,
  parameters: Parameters,
  place: (parameter: Parameter) => [name: string, into: Float32Array],
): Promise<void> {
  try {
    for (const parameter of parameters.values()) {
      const [name, into] = place(parameter)
      const shape = file.shape(name)
      if (shape.join() !== parameter.shape.join())
        throw new DataError(
          `${name} in ${file.folder} has shape [${shape.join(', ')}], the policy's is [${parameter.shape.join(', ')}].`,
        )
      await file.read(name, into)
    }
  } finally {
    await file.close()
  }
}
