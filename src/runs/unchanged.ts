/** What may not change in a run that has begun: everything that its rounds came out of. */
import { ConfigError } from '../core/errors.js'
import type { Recipe } from './recipe.js'

/** Keys that no finished round depends on. */
const free = [
  'rounds',
  'checkpoint',
  'anchors.every',
  'alarms',
  'engine.threads',
  'engine.url',
  'folder',
  'sources',
]

/** Throws ConfigError where a run's recipe and the one it shall go on with differ. */
export function checkUnchanged(begun: Recipe, wanted: Recipe, run: string): void {
  const key = firstDifference(begun, wanted, [])
  if (key === undefined) return
  const [before, now] = [begun, wanted].map((recipe) => JSON.stringify(at(recipe, key)) ?? 'nothing')
  throw new ConfigError(
    `${key.join('.')} is ${before} in ${run}, and cannot become ${now} in the middle of a run.`,
    {
      hint: `Continue it as it was with sparring train --run ${run} --resume, or start a new run.`,
    },
  )
}

function firstDifference(a: unknown, b: unknown, path: string[]): string[] | undefined {
  if (free.includes(path.join('.'))) return undefined
  if (!isTable(a) || !isTable(b)) return JSON.stringify(a) === JSON.stringify(b) ? undefined : path
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const found = firstDifference(a[key], b[key], [...path, key])
    if (found !== undefined) return found
  }
  return undefined
}

function at(data: unknown, path: string[]): unknown {
  return path.reduce((value, key) => (isTable(value) ? value[key] : undefined), data)
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
