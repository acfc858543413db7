/** sparring eval --compare: two results files, problem by problem. */
import { DataError } from '../core/errors.js'
import { compare } from '../eval/compare.js'
import { type ResultsHead, readResults } from '../eval/results.js'
import { comparisonLines } from './eval-report.js'

export async function compareCommand(files: string[], json: boolean): Promise<void> {
  const started = performance.now()
  const [a, b] = files as [string, string]
  const result = compare(await read(a), await read(b))
  if (!json) {
    process.stdout.write(`${comparisonLines(result, [a, b]).join('\n')}\n`)
    return
  }
  const seconds = (performance.now() - started) / 1000
  for (const event of [
    { event: 'compare', files: [a, b], ...result },
    { event: 'done', seconds },
  ]) {
    process.stdout.write(`${JSON.stringify(event)}\n`)
  }
}

async function read(path: string): Promise<ResultsHead> {
  const head = await readResults(path)
  if (head) return head
  throw new DataError(`${path} does not exist.`, {
    hint: 'Results files are written when an evaluation is done, under evals/ unless --out said otherwise.',
  })
}
