/** The page as it was bundled: index.html, page.js and page.css, in a folder beside this module. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { InvariantError } from '../../core/errors.js'

/** Folder of the page's files. Throws InvariantError where the page was not built. */
export function pageFolder(): string {
  const folder = fileURLToPath(new URL('./bundle/', import.meta.url))
  if (existsSync(join(folder, 'page.js'))) return folder
  throw new InvariantError('The page was not built.', { hint: 'Build Sparring anew: npm run build.' })
}
