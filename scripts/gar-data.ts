/**
 * Writes the data of GAR's starter recipes, never a held-out problem among what is trained on:
 *
 *   recipes/arithmetic/long.jsonl, long-heldout.jsonl   problems of five terms with their worked chains
 *   recipes/arithmetic/styled.jsonl                     problems worked line by line, the style to be learned
 *   recipes/arithmetic/plain.jsonl                      other problems worked as chains, the style to be left
 *   recipes/expressions/formulas.jsonl                  formulas asked for by their values, with reasoning and program
 *
 *   npm run build && node dist/scripts/gar-data.js
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { projectRoot } from '../src/core/paths.js'
import { randomStream } from '../src/core/random.js'
import {
  chainSolution,
  drawProblem,
  heldoutProblems,
  type Kind,
  kinds,
  lineSolution,
  longKinds,
  parseExpression,
} from '../src/worlds/arithmetic/index.js'
import { formulaProblem } from '../src/worlds/expressions/index.js'

const recipes = join(projectRoot(), 'recipes')

async function write(folder: string, name: string, records: object[]): Promise<void> {
  await mkdir(join(recipes, folder), { recursive: true })
  const lines = records.map((record) => `${JSON.stringify(record)}\n`)
  await writeFile(join(recipes, folder, name), lines.join(''))
}

/** Different problems of these kinds. */
function problems(name: string, n: number, from: readonly Kind[]): { problem: string; answer: string }[] {
  const stream = randomStream(0, 'recipes', name)
  const found = new Map<string, { problem: string; answer: string }>()
  while (found.size < n) {
    const drawn = drawProblem(stream, from)
    found.set(drawn.problem, drawn)
  }
  return [...found.values()]
}

const chain = (problem: string) => chainSolution(parseExpression(problem)!)
const hard = kinds.filter(({ level }) => level >= 3)

await write(
  'arithmetic',
  'long.jsonl',
  problems('long', 2000, longKinds).map((each) => ({ ...each, generations: [chain(each.problem)] })),
)
await write(
  'arithmetic',
  'long-heldout.jsonl',
  heldoutProblems(512, 0, longKinds).map(({ problem, answer }) => ({ problem, answer })),
)
await write(
  'arithmetic',
  'plain.jsonl',
  problems('plain', 1500, hard).map((each) => ({ ...each, generations: [chain(each.problem)] })),
)
await write(
  'arithmetic',
  'styled.jsonl',
  problems('styled', 1000, hard).map(({ problem }) => ({
    problem,
    text: lineSolution(parseExpression(problem)!),
  })),
)

const stream = randomStream(0, 'recipes', 'formulas')
const formulas = new Map(
  Array.from({ length: 1600 }, () => formulaProblem(stream)).map((each) => [each.problem, each]),
)
await write(
  'expressions',
  'formulas.jsonl',
  [...formulas.values()].map(({ problem, tests, solution }) => ({
    problem,
    examples: tests,
    generations: [solution],
  })),
)
