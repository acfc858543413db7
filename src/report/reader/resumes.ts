/** Where processes went on with a run. */
import { readWithin } from './files.js'
import { parseObject } from './lines.js'

const MOST_BYTES = 2 ** 20

/** Rounds after which the run was resumed, each once, in order. A file that is over 1 MiB says nothing. */
export async function readResumes(root: string): Promise<number[]> {
  const text = (await readWithin(root, 'resumes.jsonl', MOST_BYTES)) ?? ''
  const rounds = text
    .split('\n')
    .slice(0, -1)
    .map((line) => parseObject(line)?.round)
  const known = rounds.filter((round): round is number => Number.isSafeInteger(round))
  return [...new Set(known)].sort((a, b) => a - b)
}
