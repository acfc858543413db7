/**
 * Builds what GAR plays with on the starter model, both from `models/tiny/base`:
 *
 *   models/tiny/discriminator   redoes a step of worked arithmetic and judges it; with the system message `style` it tells
 *                               steps that stand alone on their lines from steps of a chain
 *   models/tiny/writer          writes formulas for given values, with wrong steps as often as not quite, and works
 *                               arithmetic in both styles, mostly as a chain
 *
 *   npm run build && node dist/models/tiny/build-gar.js [discriminator] [writer]
 *
 * The same seed, thread count and processor family give the same weights.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { projectRoot } from '../../src/core/paths.js'
import { type RandomStream, randomStream } from '../../src/core/random.js'
import { type ChatMessage, collect, type Policy } from '../../src/engine/engine.js'
import { openLocalEngine } from '../../src/engine/local/index.js'
import { type Config, config as schema } from '../../src/games/gar/config.js'
import { cutPieces } from '../../src/games/gar/cut.js'
import { type LabelledSlice, labelByRule, labelBySource } from '../../src/games/gar/sft/labels.js'
import { readVerdict, verdictText } from '../../src/games/gar/verdict.js'
import {
  chainSolution,
  kinds,
  lineSolution,
  longKinds,
  print,
  sampleTraining,
} from '../../src/worlds/arithmetic/index.js'
import { formulaExample, formulaProblem } from '../../src/worlds/expressions/index.js'
import { type Phase, publish, seed, trainPhase } from './training.js'

/** As the recipes cut: a step is a line, or a link behind the one before it. */
const slicer = { delimiter: '\\n|(?<==.*)(?==)', markers: [], min_tokens: 1, max_tokens: 96 }
const inChains = '[^=\\n]+'

/** Steps of four terms, and of two or three, where both styles are taught. */
const styledKinds = kinds.filter(({ level }) => level >= 3)

function settings(context: string): Config {
  return schema.parse({ slicer: { ...slicer, context } })
}

/** A random slice of a solution. */
function draw(stream: RandomStream, question: string, solution: string, config: Config) {
  const { shown, text } = stream.pick(cutPieces(solution, false, config, (text) => text.length))
  return { question, shown: shown.trim(), from: shown.length - text.length }
}

const chains = settings(inChains)
const lines = settings('')

function judged(stream: RandomStream): ChatMessage[] {
  for (;;) {
    const share = stream.uniform()
    const [label] = share < 0.65 ? ofChain(stream) : share < 0.9 ? ofFormula(stream) : ofStyle(stream)
    if (label) return conversation(label, share >= 0.9)
  }
}

function ofChain(stream: RandomStream): LabelledSlice[] {
  const expression = sampleTraining(stream.pick(stream.int(4) === 0 ? styledKinds : longKinds), stream)
  return labelByRule([draw(stream, print(expression), chainSolution(expression), chains)], stream)
}

function ofFormula(stream: RandomStream): LabelledSlice[] {
  const { problem, solution } = formulaProblem(stream)
  return labelByRule([draw(stream, problem, solution, lines)], stream)
}

function ofStyle(stream: RandomStream): LabelledSlice[] {
  const expression = sampleTraining(stream.pick(styledKinds), stream)
  const inLines = stream.int(2) === 0
  const solution = inLines ? lineSolution(expression) : chainSolution(expression)
  const slice = draw(stream, print(expression), solution, chains)
  return inLines ? labelBySource([slice], []) : labelBySource([], [slice])
}

function conversation({ question, shown, verdict, analysis }: LabelledSlice, style: boolean): ChatMessage[] {
  const asked: ChatMessage[] = style
    ? [
        { role: 'system', content: 'style' },
        { role: 'user', content: shown },
      ]
    : [{ role: 'user', content: `${question}\n${shown}` }]
  return [...asked, { role: 'assistant', content: verdictText(analysis, verdict, '') }]
}

function written(stream: RandomStream): ChatMessage[] {
  if (stream.int(2) === 0) return formulaExample(stream, 0.35)
  const expression = sampleTraining(stream.pick(kinds), stream)
  const content = stream.uniform() < 0.25 ? lineSolution(expression) : chainSolution(expression)
  return [
    { role: 'user', content: print(expression) },
    { role: 'assistant', content },
  ]
}

function phase(
  name: string,
  steps: number,
  peakRate: number,
  batchSize: number,
  example: (stream: RandomStream) => ChatMessage[],
): Phase {
  const conversations = (step: number) => {
    const stream = randomStream(seed, name, step)
    return Array.from({ length: batchSize }, () => example(stream))
  }
  return { name, steps, peakRate, conversations }
}

/** Share of right verdicts on steps that are new, by what is judged and which verdict is right. */
async function verdicts(policy: Policy): Promise<string> {
  const stream = randomStream(seed, 'measure')
  const conversations = Array.from({ length: 512 }, () => judged(stream))
  const requests = conversations.map((messages, i) => ({
    prompt: policy.tokenizer.encodeChat(messages.slice(0, -1), { generationPrompt: true }),
    n: 1,
    seed: i,
  }))
  const params = { maxTokens: 64, temperature: 1, topP: 1, topK: 0, stop: [] }
  const groups = new Map<string, number[]>()
  for (const { request, text } of await collect(policy.sample(requests, params))) {
    const [first, ...rest] = conversations[request]!
    const what = first!.role === 'system' ? 'style' : first!.content.startsWith('f') ? 'formula' : 'chain'
    const { verdict } = readVerdict(rest.at(-1)!.content)!
    const name = `${what} ${verdict === 1 ? 'YES' : 'NO'}`
    groups.set(name, [...(groups.get(name) ?? []), Number(readVerdict(text)?.verdict === verdict)])
  }
  const share = (right: number[]) => (right.reduce((a, b) => a + b, 0) / right.length).toFixed(2)
  return [...groups]
    .sort()
    .map(([name, right]) => `${name} ${share(right)}`)
    .join(', ')
}

const phases: Phase[] = [
  phase('writer', 300, 1e-3, 128, written),
  { ...phase('discriminator', 900, 2e-3, 256, judged), measure: verdicts },
]

const asked = process.argv.slice(2)
const engine = await openLocalEngine({ threads: 2 })
const out = join(projectRoot(), 'models', 'tiny')
for (const phase of phases.filter(({ name }) => asked.length === 0 || asked.includes(name))) {
  const work = join(projectRoot(), 'runs', 'starter-model', phase.name)
  await rm(work, { recursive: true, force: true })
  await trainPhase(engine, join(out, 'base'), work, phase)
  await publish(work, join(out, phase.name))
}
await engine.close()
