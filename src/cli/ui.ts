/** sparring ui: the web page of a folder of runs. */
import { ConfigError } from '../core/errors.js'
import { pageFolder } from '../report/page/bundle.js'
import { Library } from '../report/reader/library.js'
import { addressesOf } from '../report/server/addresses.js'
import { createApp } from '../report/server/app.js'
import { isLoopback } from '../report/server/guard.js'
import { readPageFiles } from '../report/server/page-files.js'
import { listen } from '../report/server/serve.js'
import { printable } from './failure.js'
import { paint } from './paint.js'

export interface UiFlags {
  port?: number
  host: string
  /** Names that the page may be asked for by, beside this machine's own. */
  allowHost?: string[]
  json?: boolean
}

/** Serves until Ctrl-C, and then ends in order. */
export async function ui(folder: string, { port, host, allowHost = [], json }: UiFlags): Promise<void> {
  const names = allowHost.map(requireName)
  const library = await Library.at(folder)
  const ending = new AbortController()
  const page = readPageFiles(pageFolder())
  const app = createApp({ library, page, doors: { host, names }, signal: ending.signal })
  const listening = await listen(app, host, port)
  const urls = addressesOf(host, names, listening.port)
  const { runs } = await library.list()
  if (json) {
    const event = { event: 'listening', url: urls[0], urls, folder, runs: runs.length }
    process.stdout.write(`${JSON.stringify(event)}\n`)
  } else {
    process.stdout.write(`${urls.join('\n')}\n`)
    process.stderr.write(`${countOf(runs.length, printable(folder))}; Ctrl-C ends.\n`)
  }
  if (!isLoopback(host)) {
    const warning = paint(process.stderr, 'yellow', 'warning:')
    process.stderr.write(
      `${warning} anyone on the network can read every run in ${printable(folder)}: ${host} is not for this machine alone.\n`,
    )
  }
  await interrupted()
  ending.abort()
  await listening.close()
}

function countOf(runs: number, folder: string): string {
  if (runs === 0) return `No runs in ${folder} yet; they appear as they are played`
  return `${runs === 1 ? '1 run' : `${runs} runs`} in ${folder}`
}

function requireName(name: string): string {
  if (/^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/i.test(name)) return name.toLowerCase()
  throw new ConfigError(`--allow-host ${name} is no name of a machine.`, {
    hint: 'Give the name alone, such as node17.cluster.example: no http://, no port, no *.',
  })
}

function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
}
