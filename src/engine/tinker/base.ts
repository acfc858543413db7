/** The model that a policy of a server stands on: its tokenizer, read here, and its name over there. */
import { stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { ConfigError, DataError } from '../../core/errors.js'
import { nearest } from '../../core/nearest.js'
import type { PolicySpec, Tokenizer } from '../engine.js'
import { Fields } from '../hf/fields.js'
import { readJson } from '../hf/files.js'
import { loadTokenizer } from '../hf/tokenizer.js'

/** Far above every vocabulary there is. */
const mostTokens = 2 ** 22

/** Tokenizer and chat template of a model folder, of whatever architecture; weights are not looked at. Throws DataError. */
export async function openTokenizer(
  folder: string,
  { thinking }: Pick<PolicySpec, 'thinking'>,
): Promise<Tokenizer> {
  const path = join(folder, 'config.json')
  const raw = await readJson(path)
  if (raw === undefined) throw await missing(folder)
  const whole = new Fields(path, raw)
  const text = whole.object('text_config') ?? whole
  const generationPath = join(folder, 'generation_config.json')
  const generation = new Fields(generationPath, (await readJson(generationPath)) ?? {})
  const ids = [generation, text, whole].flatMap((fields) => fields.ids('eos_token_id'))
  const config = { vocabSize: text.count('vocab_size', undefined, mostTokens), eosIds: [...new Set(ids)] }
  return loadTokenizer(folder, config, thinking === undefined ? {} : { thinking })
}

async function missing(folder: string): Promise<DataError> {
  const isFolder = await stat(folder).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
  if (isFolder)
    return new DataError(`${folder} has no config.json.`, {
      hint: 'Give a model folder in Hugging Face form; of a model on a server, its weights may be left out.',
    })
  return new DataError(`There is no model folder ${folder}.`, {
    hint: 'Its tokenizer is needed here: sparring pull NAME --no-weights fetches that of a model of the Hub.',
  })
}

/**
 * The server's name of the base model: as it was set; else the first of the names by which the user knows it that the
 * server has; else that of its only model. Throws ConfigError.
 */
export function chooseBaseModel(
  { model, remote = {} }: Pick<PolicySpec, 'model' | 'remote'>,
  served: string[],
  url: string,
): string {
  const { baseModel, name } = remote
  const has = (wanted: string) => served.length === 0 || served.includes(wanted)
  if (baseModel !== undefined) {
    if (has(baseModel)) return baseModel
    const guess = nearest(baseModel, served)
    throw new ConfigError(`${url} does not serve the model ${baseModel}.`, {
      hint: guess ? `Did you mean ${guess}?` : `It serves ${served.join(', ')}.`,
    })
  }
  const bare = name?.replace(/@[^@]*$/, '')
  const known = [bare, name, model, basename(model)].find(
    (each) => each !== undefined && served.includes(each),
  )
  if (known !== undefined) return known
  if (served.length === 1) return served[0]!
  if (served.length === 0 && bare !== undefined) return bare
  throw new ConfigError(`${url} does not serve ${bare ?? model}, as far as its names tell.`, {
    hint: `Set base_model of the role to one of ${served.join(', ')}.`,
  })
}
