/** sparring ui: the web page of a folder of runs. */

import { pageFolder } from '../report/page/bundle.js'
import { Library } from '../report/reader/library.js'
import { createApp } from '../report/server/app.js'
import { isLoopback } from '../report/server/guard.js'
import { readPageFiles } from '../report/server/page-files.js'
import { listen } from '../report/server/serve.js'
import { printable } from './failure.js'
import { paint } from './paint.js'

export interface UiFlags {
  port?: number
  host: string
  json?: boolean
}

/** Serves until Ctrl-C, and then ends in order. */
export async function ui(folder: string, { port, host, json }: UiFlags): Promise<void> {
  const library = await Library.at(folder)
  const ending = new AbortController()
  const page = readPageFiles(pageFolder())
  const app = createApp({ library, page, host, signal: ending.signal })
  const { url, close } = await listen(app, host, port)
  const { runs } = await library.list()
  if (json) {
    process.stdout.write(`${JSON.stringify({ event: 'listening', url, folder, runs: runs.length })}\n`)
  } else {
    process.stdout.write(`${url}\n`)
    const count = runs.length === 1 ? '1 run' : `${runs.length} runs`
    process.stderr.write(`${count} in ${printable(folder)}; Ctrl-C ends.\n`)
  }
  if (!isLoopback(host)) {
    const warning = paint(process.stderr, 'yellow', 'warning:')
    process.stderr.write(
      `${warning} ${host} can be reached by others; whoever can may read every run in ${folder}.\n`,
    )
  }
  await interrupted()
  ending.abort()
  await close()
}

function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
}
