/** The report of a run: one HTML file, also of a run that crashed or is still being played. */
import { rename, rm, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { ConfigError, messageOf } from '../../core/errors.js'
import { requireRun } from '../reader/folders.js'
import { RunReader } from '../reader/run.js'
import { collect } from './collect.js'
import { frameBytes, reportHtml } from './html.js'

/** Bytes that a report has at most. */
export const MOST_BYTES = 3_000_000

export interface WrittenReport {
  file: string
  bytes: number
  /** Matches that it carries. */
  matches: number
}

/**
 * Writes the report of a run's folder into a file (report.html in the folder where none is named). A file that is there
 * is replaced once the new one is whole. Throws ConfigError where the folder holds no run or the file cannot be written.
 */
export async function writeReport(
  folder: string,
  file = join(folder, 'report.html'),
): Promise<WrittenReport> {
  const run = new RunReader(basename(resolve(folder)), await requireRun(folder))
  await run.open()
  // Base64 makes four bytes of three; compressed parts are smaller together than apart.
  const data = await collect(run, ((MOST_BYTES - frameBytes()) * 3) / 4)
  const html = reportHtml(data)
  await replace(file, html)
  return { file, bytes: Buffer.byteLength(html), matches: data.matches.length }
}

async function replace(file: string, text: string): Promise<void> {
  const aside = `${file}.partial`
  try {
    await writeFile(aside, text)
    await rename(aside, file)
  } catch (cause) {
    await rm(aside, { force: true })
    throw new ConfigError(`The report ${basename(file)} cannot be written: ${messageOf(cause)}.`, {
      hint: 'Name a file that can be written with --out.',
      cause,
    })
  }
}
