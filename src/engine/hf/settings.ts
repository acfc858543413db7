/** What lies in a model folder beside the weights, and goes with them where they are saved. */
import { copyFile, readdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { asWriteError, readJson, writeFileWhole } from './files.js'

/** Weights in any form, and what speaks of one folder only. */
const left = /safetensors|^pytorch_model|^(policy|pulled|adapter_config)\.json$|^README|\.incomplete$/

/** Everything of a model folder but its weights: configuration, tokenizer, chat template, licence. */
export async function copySettings(from: string, to: string): Promise<void> {
  if ((await realpath(to)) === (await realpath(from))) return
  for (const name of await readdir(from)) {
    // Files of the Hub's cache are links.
    if (left.test(name) || !(await stat(join(from, name))).isFile()) continue
    const target = join(to, name)
    await copyFile(join(from, name), target).catch((error) => Promise.reject(asWriteError(target, error)))
  }
}

/** Writes into config.json the type that the weights are stored in: a loader that believed another one would round them. */
export async function declareType(folder: string, type: 'float32' | 'bfloat16'): Promise<void> {
  const path = join(folder, 'config.json')
  const config = (await readJson(path)) ?? {}
  const key = 'dtype' in config ? 'dtype' : 'torch_dtype'
  if (config[key] === type) return
  await writeFileWhole(path, `${JSON.stringify({ ...config, [key]: type }, null, 2)}\n`)
}
