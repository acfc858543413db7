/** sparring pull: fetches a model or a data set of the Hugging Face Hub into the cache, or into a folder. */
import { ConfigError } from '../core/errors.js'
import { readModelConfig } from '../engine/hf/config.js'
import { hubName, pullModel } from '../hub/models.js'
import { bytes, duration } from './progress/format.js'
import { ArrivalProgress } from './pull-progress.js'

export interface PullFlags {
  revision?: string
  to?: string
  weights: boolean
  /** It is a data set. */
  dataset?: boolean
  only?: string
  offline?: boolean
  json?: boolean
}

export async function pull(model: string, flags: PullFlags): Promise<void> {
  const { to, weights, dataset = false, only, offline, json = false } = flags
  if (only !== undefined && !dataset) {
    throw new ConfigError('--only is for data sets.', { hint: 'Add --dataset, or leave --only out.' })
  }
  const named = flags.revision === undefined ? hubName(model) : undefined
  const abort = new AbortController()
  const end = () => abort.abort()
  process.once('SIGINT', end).once('SIGTERM', end)
  const progress = new ArrivalProgress(json ? process.stdout : process.stderr, json)
  const started = performance.now()
  try {
    const source = named ?? { model, revision: flags.revision }
    const pulled = await pullModel(dataset ? { ...source, kind: 'dataset' } : source, {
      to,
      weights,
      only,
      offline,
      signal: abort.signal,
      // A gigabyte is not worth fetching for an architecture that is not computed here.
      ...(weights && !dataset && { check: readModelConfig }),
      note: (text) => progress.note(text),
      progress: (arrived) => progress.update(arrived),
    })
    progress.close()
    const { revision, commit, folder, files, fetched } = pulled
    const seconds = (performance.now() - started) / 1000
    if (json) {
      const done = { event: 'done', model: pulled.model, revision, commit, folder }
      const sizes = { files: files.length, bytes: pulled.bytes, fetched, seconds: Number(seconds.toFixed(1)) }
      process.stdout.write(`${JSON.stringify({ ...done, ...sizes })}\n`)
      return
    }
    const all = `${files.length} files, ${bytes(pulled.bytes)}`
    const how = fetched === 0 ? 'nothing to fetch' : `${bytes(fetched)} fetched in ${duration(seconds)}`
    process.stdout.write(`${pulled.model} (${revision}, ${commit.slice(0, 7)}): ${all}, ${how}\n${folder}\n`)
  } finally {
    progress.close()
    process.off('SIGINT', end).off('SIGTERM', end)
  }
}
