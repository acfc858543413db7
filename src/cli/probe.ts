/** What the commands under sparring probe share. */
import { writeFileWhole } from '../engine/hf/files.js'
import { SampleProgress } from './progress/samples.js'

export interface ProbeFlags {
  limit?: number
  seed: number
  threads?: number
  out?: string
  json?: boolean
}

/** Works behind a line that says how far it is. */
export async function shown<T>(
  name: string,
  work: (progress: (done: number, total: number) => void) => Promise<T>,
): Promise<T> {
  const progress = new SampleProgress(process.stderr, name)
  try {
    return await work((done, total) => progress.update(done, total))
  } finally {
    progress.close()
  }
}

/** Writes the picture where one was asked for, and says that it is over. */
export async function finish(
  out: string | undefined,
  picture: () => string,
  { probe, json }: { probe: string; json: boolean | undefined },
): Promise<void> {
  if (out !== undefined) await writeFileWhole(out, picture())
  if (json) print({ event: 'done', probe, out: out ?? null })
  else if (out !== undefined) say([out])
}

export function say(lines: string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`)
}

export function print(event: object): void {
  process.stdout.write(`${JSON.stringify(event)}\n`)
}
