/** Folders that a user names: what is wrong with one, and which was most likely meant. */
import { existsSync } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { ConfigError } from '../../core/errors.js'
import { nearest } from '../../core/nearest.js'

/** Where sparring train leaves runs. */
const RUNS = 'runs'

/** What a run has beside its config.json, from its first moments on. */
const signs = ['journal.jsonl', 'metrics.jsonl', 'checkpoints', 'lock']

/** The real path of a folder of runs, or of a run. Throws ConfigError where there is no such folder. */
export async function requireFolder(folder: string): Promise<string> {
  const found = await stat(folder).catch(() => undefined)
  if (found?.isDirectory()) return realpath(folder)
  if (found) {
    throw new ConfigError(`${folder} is a file, not a folder of runs.`, {
      hint: 'Name a folder of runs: sparring train makes runs/.',
    })
  }
  const meant = await nearestFolder(folder)
  throw new ConfigError(`The folder ${folder} does not exist.`, {
    hint: meant ? `Did you mean ${meant}?` : 'Name a folder of runs: sparring train makes runs/.',
  })
}

/** The real path of a run's folder. Throws ConfigError where it is none, and says which run may be meant. */
export async function requireRun(folder: string): Promise<string> {
  if (isRun(folder)) return realpath(folder)
  const found = await stat(folder).catch(() => undefined)
  if (found === undefined) {
    const meant = await nearestFolder(folder, isRun)
    throw new ConfigError(`The folder ${folder} does not exist.`, {
      hint: meant
        ? `Did you mean ${meant}?`
        : `Name the folder of a run; sparring ui lists those in ${RUNS}.`,
    })
  }
  if (!found.isDirectory()) {
    throw new ConfigError(`${folder} is a file, not the folder of a run.`, {
      hint: isRun(dirname(folder))
        ? `Name the folder that it lies in, ${dirname(folder)}.`
        : 'Name a folder.',
    })
  }
  const names = await readdir(folder)
  if (names.length === 0) {
    throw new ConfigError(`The folder ${folder} is empty.`, {
      hint: 'Name the folder of a run that has been played.',
    })
  }
  const within = names.find((name) => isRun(join(folder, name)))
  throw new ConfigError(`${folder} is not the folder of a run.`, {
    hint: within
      ? `It holds runs: name one of them, such as ${join(folder, within)}.`
      : 'A run has a config.json.',
  })
}

function isRun(folder: string): boolean {
  return holdsRun(new Set(['config.json', ...signs].filter((name) => existsSync(join(folder, name)))))
}

/** Whether a folder that holds these is that of a run: a model folder has a config.json too. */
export function holdsRun(names: ReadonlySet<string>): boolean {
  return names.has('config.json') && signs.some((name) => names.has(name))
}

/** Beside the path that is not there, or by its name in the folder of runs. */
async function nearestFolder(path: string, counts = (_folder: string) => true): Promise<string | undefined> {
  for (const place of [dirname(path), RUNS]) {
    const entries = await readdir(place, { withFileTypes: true }).catch(() => [])
    const names = entries
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map(({ name }) => name)
      .filter((name) => counts(join(place, name)))
    const meant = nearest(basename(path), names)
    if (meant !== undefined) return join(place, meant)
  }
  return undefined
}
