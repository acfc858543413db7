// npm gives a package's own command no place in node_modules/.bin, and npx makes up for it by a link in its cache that
// an interrupted install leaves broken. With the link made here, `npx sparring` finds what was built here.
import { chmodSync, existsSync, rmSync, symlinkSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

chmodSync(new URL('../dist/src/cli/main.js', import.meta.url), 0o755)

const folder = fileURLToPath(new URL('../node_modules/.bin', import.meta.url))
if (process.platform !== 'win32' && existsSync(folder)) {
  rmSync(`${folder}/sparring`, { force: true })
  symlinkSync('../../dist/src/cli/main.js', `${folder}/sparring`)
}
