import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { InvariantError } from './errors.js'

/** Folder that holds this package's package.json, from source and from compiled output alike. */
export function projectRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (folder !== dirname(folder)) {
    const manifest = join(folder, 'package.json')
    if (existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).name === 'sparring') return folder
    folder = dirname(folder)
  }
  throw new InvariantError('The package.json of sparring was not found above its own code.')
}
