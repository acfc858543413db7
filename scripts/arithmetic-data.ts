/**
 * Writes the data of the starter recipes (recipes/arithmetic) from the arithmetic world: `knowledge.jsonl`, one text a kind of problem, and
 * `coldstart.jsonl`, conversations of both roles of which 15 % hold a wrong step, never about a held-out problem.
 *
 *   npm run build && node dist/scripts/arithmetic-data.js
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { projectRoot } from '../src/core/paths.js'
import { randomStream } from '../src/core/random.js'
import { kinds, proposerExample, solverExample } from '../src/worlds/arithmetic/index.js'

const stream = randomStream(0, 'recipes', 'coldstart')
const conversations = Array.from({ length: 2000 }, () => {
  const example = stream.uniform() < 0.5 ? proposerExample : solverExample
  const { messages } = example(stream, { detail: 'plain', wrongStepRate: 0.15 })
  return { messages }
})

const folder = join(projectRoot(), 'recipes', 'arithmetic')
const write = (name: string, records: object[]) =>
  writeFile(join(folder, name), records.map((record) => `${JSON.stringify(record)}\n`).join(''))

await write(
  'knowledge.jsonl',
  kinds.map(({ text }) => ({ text })),
)
await write('coldstart.jsonl', conversations)
