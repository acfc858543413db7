/** Folders for tests, and what lies in them. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A new folder that goes when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sparring-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/**
 * The files of a run folder by path, as text, without what may differ between two runs: times, and where processes went on
 * with it.
 */
export function filesOfRun(folder: string, within = ''): Record<string, string> {
  const files: Record<string, string> = {}
  for (const entry of readdirSync(join(folder, within), { withFileTypes: true })) {
    const name = join(within, entry.name)
    if (entry.name === 'resumes.jsonl') continue
    if (entry.isDirectory()) Object.assign(files, filesOfRun(folder, name))
    else files[name] = readFileSync(join(folder, name), 'utf8').replace(/"time\/[^"]*":[^,}]*,?/g, '')
  }
  return files
}
