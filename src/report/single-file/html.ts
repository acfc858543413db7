/** One HTML file that needs nothing else: the page's style, its program and the data, compressed. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { pageFolder } from '../page/bundle.js'
import type { Inlined } from '../page/view/inlined.js'

/** Bytes that the file takes without its data. */
export function frameBytes(): number {
  return Buffer.byteLength(frame('')) + 1000
}

export function reportHtml(data: Inlined): string {
  return frame(gzipSync(JSON.stringify(data), { level: 9 }).toString('base64'))
}

/**
 * Nothing of the run stands in the file as markup: all of it is in the data. The policy lets no other script run than the
 * page's own, and nothing be fetched.
 */
function frame(data: string): string {
  const [style, program] = ['page.css', 'page.js'].map((name) =>
    readFileSync(join(pageFolder(), name), 'utf8'),
  )
  const script = program!.replaceAll('</script', '<\\/script')
  const hash = createHash('sha256').update(script).digest('base64')
  const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sparring</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="page"><noscript>This report needs JavaScript. It loads nothing from elsewhere.</noscript></div>
<script type="application/gzip" id="run-data">${data}</script>
<script>${script}</script>
</body>
</html>
`
}
