/** sparring report: a run as one HTML file. */
import { messageOf } from '../core/errors.js'
import { writeReport } from '../report/single-file/report.js'
import { printable } from './failure.js'

export interface ReportFlags {
  out?: string
  json?: boolean
}

export async function report(folder: string, { out, json }: ReportFlags): Promise<void> {
  const { file, bytes, matches } = await writeReport(folder, out)
  process.stdout.write(
    json
      ? `${JSON.stringify({ event: 'report', file, bytes, matches })}\n`
      : `${printable(file)} (${(bytes / 1e6).toFixed(2)} MB, ${matches} matches)\n`,
  )
}

/** At the end of a run, however it ended. Whatever goes wrong here is said, and costs nobody the run. */
export async function leaveReport(folder: string, quiet: boolean): Promise<void> {
  try {
    const { file } = await writeReport(folder)
    if (!quiet) process.stderr.write(`report: ${printable(file)}\n`)
  } catch (error) {
    process.stderr.write(`The report was not written: ${printable(messageOf(error))}\n`)
  }
}
