/** LoRA adapters as PEFT writes them: adapter_config.json and adapter_model.safetensors. */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ConfigError, DataError } from '../../core/errors.js'
import { nearest } from '../../core/nearest.js'
import { pulledModel } from '../../hub/models.js'
import type { LoraSpec } from '../engine.js'
import type { ModelConfig } from './config.js'
import { Fields } from './fields.js'
import { readJson, writeFileWhole } from './files.js'
import { modelParameters } from './parameters.js'
import { openSafetensors, type TensorFile, type TensorToWrite, writeSafetensors } from './safetensors.js'

/** The linear layers that can carry an adapter. */
export const loraTargets = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj']

/** One adapted weight W of shape [out, in]: the model computes with W + (alpha / rank) B A. */
export interface LoraPair {
  /** Name of W in the checkpoint. */
  weight: string
  /** Name and shape [rank, in] of A. */
  a: { name: string; shape: number[] }
  /** Name and shape [out, rank] of B. */
  b: { name: string; shape: number[] }
}

/** The adapter's tensors in the order of the model's parameters. Throws ConfigError for a target that is no linear layer. */
export function loraPairs(config: ModelConfig, { rank, targets }: LoraSpec): LoraPair[] {
  for (const target of targets) {
    if (loraTargets.includes(target)) continue
    const meant = nearest(target, loraTargets)
    throw new ConfigError(`The LoRA target "${target}" is not a linear layer of the model.`, {
      hint: meant ? `Did you mean ${meant}?` : `Choose from ${loraTargets.join(', ')}.`,
    })
  }
  return modelParameters(config)
    .filter(({ name }) => targets.some((target) => name.endsWith(`.${target}.weight`)))
    .map(({ name, shape }) => {
      const prefix = `base_model.model.${name.slice(0, -'.weight'.length)}`
      return {
        weight: name,
        a: { name: `${prefix}.lora_A.weight`, shape: [rank, shape[1]!] },
        b: { name: `${prefix}.lora_B.weight`, shape: [shape[0]!, rank] },
      }
    })
}

export interface Adapter {
  spec: LoraSpec
  /** Folder or name of the model that is adapted, as written in the adapter; empty where it is not said. */
  baseModel: string
  /** Commit of that model, where it is one of the Hub. */
  revision?: string
  /** Holds every tensor of `loraPairs` in its shape. The caller closes it. */
  tensors: TensorFile
}

type AdapterConfig = Omit<Adapter, 'tensors'>

/** Writes an adapter that PEFT loads; `tensors` are those of `loraPairs`. Throws CheckpointError. */
export async function writeAdapter(
  folder: string,
  { spec, baseModel, revision }: AdapterConfig,
  tensors: Iterable<TensorToWrite>,
): Promise<void> {
  await writeSafetensors(folder, tensors, { base: 'adapter_model', maxShardBytes: Number.POSITIVE_INFINITY })
  const config = {
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    base_model_name_or_path: baseModel,
    ...(revision !== undefined && { revision }),
    r: spec.rank,
    lora_alpha: spec.alpha,
    target_modules: spec.targets,
    lora_dropout: 0,
    bias: 'none',
    fan_in_fan_out: false,
    inference_mode: true,
    modules_to_save: null,
  }
  await writeFileWhole(join(folder, 'adapter_config.json'), `${JSON.stringify(config, null, 2)}\n`)
}

/** Whether the folder holds an adapter rather than a whole model. */
export async function isAdapter(folder: string): Promise<boolean> {
  return (await readJson(join(folder, 'adapter_config.json'))) !== undefined
}

/** What adapter_config.json says. Throws DataError for kinds of adapter that the engine does not compute. */
export async function readAdapterConfig(folder: string): Promise<AdapterConfig> {
  const path = join(folder, 'adapter_config.json')
  const raw = await readJson(path)
  if (raw === undefined) {
    throw new DataError(`${folder} has no adapter_config.json.`, {
      hint: 'Give a folder that PEFT or Sparring wrote.',
    })
  }
  const fields = new Fields(path, raw)
  const hint = 'Use a plain LoRA adapter, or merge it into its model with PEFT.'
  if (fields.text('peft_type') !== 'LORA') throw fields.refuse('peft_type', 'only LORA is supported', hint)
  for (const key of ['use_dora', 'use_rslora', 'fan_in_fan_out', 'lora_bias']) {
    if (fields.flag(key, false)) throw fields.refuse(key, 'this kind of adapter is not supported', hint)
  }
  if (fields.text('bias', 'none') !== 'none')
    throw fields.refuse('bias', 'trained biases are not supported', hint)
  for (const key of [
    'modules_to_save',
    'rank_pattern',
    'alpha_pattern',
    'layers_to_transform',
    'trainable_token_indices',
  ]) {
    const value = raw[key]
    if (typeof value === 'object' && value !== null && Object.keys(value).length === 0) continue
    if (fields.has(key))
      throw fields.refuse(key, 'adapters that treat layers differently are not supported', hint)
  }
  return {
    spec: {
      rank: fields.count('r'),
      alpha: fields.positive('lora_alpha'),
      targets: readTargets(fields, hint),
    },
    baseModel: fields.text('base_model_name_or_path', ''),
    ...(fields.has('revision') && { revision: fields.text('revision') }),
  }
}

/** Folder of the model that an adapter stands on, whether it is there or not: a path, or a pulled model of the Hub. */
export function baseFolder(adapter: string, { baseModel, revision }: Omit<AdapterConfig, 'spec'>): string {
  const path = resolve(adapter, baseModel)
  if (existsSync(path)) return path
  return pulledModel(revision === undefined ? baseModel : `${baseModel}@${revision}`)?.folder ?? path
}

function readTargets(fields: Fields, hint: string): string[] {
  if (fields.raw.target_modules === 'all-linear') return loraTargets
  const targets = fields.texts('target_modules', [])
  if (targets.length > 0 && targets.every((target) => loraTargets.includes(target))) return targets
  throw fields.refuse('target_modules', `only ${loraTargets.join(', ')} can be adapted`, hint)
}

/** Opens an adapter and checks it against the model it is to adapt. Throws DataError. */
export async function openAdapter(folder: string, config: ModelConfig): Promise<Adapter> {
  const { spec, ...base } = await readAdapterConfig(folder)
  const tensors = await openSafetensors(folder, 'adapter_model')
  try {
    checkAdapter(config, spec, tensors)
  } catch (error) {
    await tensors.close()
    throw error
  }
  return { spec, ...base, tensors }
}

function checkAdapter(config: ModelConfig, spec: LoraSpec, tensors: TensorFile): void {
  const expected = loraPairs(config, spec).flatMap(({ a, b }) => [a, b])
  const hint = 'Is it the adapter of another model?'
  for (const { name, shape } of expected) {
    if (!tensors.has(name)) throw new DataError(`The adapter in ${tensors.folder} lacks "${name}".`, { hint })
    if (String(tensors.shape(name)) !== String(shape)) {
      const found = `[${tensors.shape(name)}]`
      throw new DataError(
        `"${name}" in ${tensors.folder} has shape ${found}, but the model asks for [${shape}].`,
        { hint },
      )
    }
  }
  const known = new Set(expected.map(({ name }) => name))
  const unknown = tensors.names().find((name) => !known.has(name))
  if (unknown)
    throw new DataError(
      `The adapter in ${tensors.folder} holds "${unknown}", which the model has no place for.`,
      { hint },
    )
}
