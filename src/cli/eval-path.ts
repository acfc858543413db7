import { basename, extname } from 'node:path'
import type { Protocol } from '../eval/protocols.js'
import type { EvalSettings } from '../eval/settings.js'

export interface Named {
  settings: EvalSettings
  /** The protocol as it is where no flag changes it. */
  preset: Protocol
  out?: string | undefined
  limit?: number | undefined
  /** Place among the evaluations of one benchmark. */
  place: number
}

const changeable = {
  samples: 'samples',
  temperature: 'temperature',
  topP: 'top-p',
  maxTokens: 'max-tokens',
  seed: 'seed',
}

/**
 * Where the results of an evaluation go: --out, or under evals/ by benchmark, model, protocol and what flags changed, so
 * that the same command finds its results again and another one has others. The second evaluation of a command (the
 * greedy one) has a name of its own beside --out.
 */
export function resultsPath({ settings, preset, out, limit, place }: Named): string {
  const { benchmark, model, protocol } = settings
  if (out !== undefined) return place === 0 ? out : `${out.replace(/\.json$/, '')}-${protocol.name}.json`
  const changes = Object.entries(changeable).flatMap(([key, name]) => {
    const value = protocol[key as keyof typeof changeable]
    return value === preset[key as keyof typeof changeable] ? [] : [`${name}${value}`]
  })
  const name = basename(benchmark.name, extname(benchmark.name))
  const limited = limit === undefined ? [] : [`limit${limit}`]
  const parts = [name, modelName(model.name), protocol.name, ...limited, ...changes]
  return `evals/${parts.map((part) => part.replace(/[^\w.-]+/g, '-')).join('-')}.json`
}

/** The last names of a path that tell a model: run, round and role of a checkpoint. */
function modelName(name: string): string {
  const telling = name
    .split(/[/\\]+/)
    .filter((part) => !/^(\.*|[A-Za-z]:|runs|models|checkpoints)$/.test(part))
  return telling.slice(-3).join('-') || 'model'
}
