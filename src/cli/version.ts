import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../core/paths.js'

export function packageVersion(): string {
  return JSON.parse(readFileSync(join(projectRoot(), 'package.json'), 'utf8')).version
}
