// Bundles the page (src/report/page/app) into files that need no network and no build where Sparring is used. The folder of
// the compiled output is given, or is dist.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const app = join(root, 'src/report/page/app')
const out = join(process.argv[2] ?? join(root, 'dist'), 'src/report/page/bundle')

await build({
  entryPoints: [join(app, 'page.tsx'), join(app, 'page.css')],
  outdir: out,
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2022',
  legalComments: 'eof',
  logLevel: 'warning',
})

mkdirSync(out, { recursive: true })
copyFileSync(join(app, 'index.html'), join(out, 'index.html'))
const licences = ['preact', 'uplot'].map((name) => {
  return `${name}\n\n${readFileSync(join(root, 'node_modules', name, 'LICENSE'), 'utf8')}`
})
writeFileSync(join(out, 'LICENSES.txt'), licences.join('\n'))
