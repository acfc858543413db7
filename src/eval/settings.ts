/** What an evaluation is: what it asks of whom, and how. Results of the same settings are the same evaluation. */
import { ConfigError } from '../core/errors.js'
import type { DataRecord } from './benchmarks/load.js'
import type { Kind } from './benchmarks/registry.js'
import type { Protocol } from './protocols.js'

export interface EvalSettings {
  benchmark: { name: string; kind: Kind; problems: number }
  data: DataRecord
  model: {
    /** Folder, or the name that a service gives it. */
    name: string
    /** Of a folder: sum of its weights (see `weightsSum`). */
    weights?: string
    /** Of a service. */
    address?: string
  }
  protocol: Protocol
}

/** Longest value that a sentence quotes. */
const SHORT = 60

/**
 * How two evaluations differ, one phrase each, `here` against `there`. Problems are told by their sum, however their
 * file is named; a model folder by the sum of its weights, wherever it lies; a model of a service by its name and the
 * address of the service, since two services may give the same name to two models.
 */
export function differences(here: unknown, there: unknown): string[] {
  const [a, b] = [leaves(identity(here as EvalSettings)), leaves(identity(there as EvalSettings))]
  const names = [...new Set([...a.keys(), ...b.keys()])]
  return names.flatMap((name) => {
    const [mine, other] = [a.get(name), b.get(name)]
    if (mine === other) return []
    const quoted = [mine, other].every((value = 'none') => value.length <= SHORT)
    return [quoted ? `${name} ${other ?? 'none'} instead of ${mine ?? 'none'}` : `another ${name}`]
  })
}

/** Throws ConfigError where the file at `path` belongs to another evaluation. */
export function checkSame(path: string, here: EvalSettings, there: unknown): void {
  const [first, ...others] = differences(here, there)
  if (first === undefined) return
  const more =
    others.length > 0 ? ` (and ${others.length} more difference${others.length > 1 ? 's' : ''})` : ''
  throw new ConfigError(`${path} belongs to another evaluation: it has ${first}${more}.`, {
    hint: 'Name another file with --out, give the same settings again, or delete that file.',
  })
}

function identity({ benchmark, data, model, ...rest }: EvalSettings): object {
  const { name: _, ...set } = benchmark ?? {}
  return {
    benchmark: set,
    data: {
      sha256: data?.sha256,
      ...(set.kind === 'code' && { files: data?.files?.map(({ sha256 }) => sha256) }),
    },
    model: model?.weights === undefined ? model : { weights: model.weights },
    ...rest,
  }
}

/** Values by their dotted path, as JSON. */
function leaves(value: unknown, path = ''): Map<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return value === undefined ? new Map() : new Map([[path, JSON.stringify(value)]])
  }
  return new Map(
    Object.entries(value).flatMap(([key, item]) => [...leaves(item, path === '' ? key : `${path}.${key}`)]),
  )
}
