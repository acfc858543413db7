/** What scripts that play runs share: the command line as a process of its own, and the numbers of a run folder. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { projectRoot } from '../../src/core/paths.js'
import type { MetricsLine } from '../../src/runs/directory.js'
import type { RunEvent } from '../../src/runs/events.js'
import { parseLine, readLines } from '../../src/runs/lines.js'

export interface CommandProcess {
  /** Exit status; null where a signal ended it. */
  ended: Promise<number | null>
  /** As the first Ctrl-C does, however often it is called: a run ends after its round, with a checkpoint. */
  end(): void
}

/**
 * Runs `sparring ARGS --json` in a process group of its own, so that Ctrl-C in the terminal reaches the script alone. Its
 * errors go to this process's stderr.
 */
export function startCommand(
  args: readonly string[],
  hear: (event: RunEvent) => void = () => {},
): CommandProcess {
  const cli = join(projectRoot(), 'dist', 'src', 'cli', 'main.js')
  const child = spawn(process.execPath, [cli, ...args, '--json'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let asked = false
  // What a command says when it is asked to end is for whom pressed Ctrl-C.
  child.stderr.on('data', (text) => asked || process.stderr.write(text))
  createInterface(child.stdout).on('line', (line) => {
    const event = parseLine(line) as RunEvent | undefined
    if (event?.event === 'error') process.stderr.write(`${event.message} ${event.hint ?? ''}\n`)
    else if (event !== undefined) hear(event)
  })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const end = () => {
    if (!asked) child.kill('SIGINT')
    asked = true
  }
  return { ended, end }
}

/** Lines of metrics.jsonl, half a line at its end left out; none where the run has not begun. */
export async function readMetrics(run: string): Promise<MetricsLine[]> {
  const { lines } = await readLines(join(run, 'metrics.jsonl'))
  return lines.map(({ text }) => parseLine(text) as MetricsLine)
}

/** Values of a metric in order of rounds, where it was written. */
export function valuesOf(lines: readonly MetricsLine[], metric: string): number[] {
  return lines.flatMap((line) => line[metric] ?? [])
}
