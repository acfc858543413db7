/**
 * Builds `models/tiny/critic`, who judges worked arithmetic step by step: `models/tiny/discriminator`, who judges one step,
 * taught the form of a critique. A quarter of what it is shown is single steps, so that it goes on judging as it learns
 * to go through a solution.
 *
 *   npm run build && node dist/models/tiny/build-critic.js
 *
 * The same seed, thread count and processor family give the same weights.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { projectRoot } from '../../src/core/paths.js'
import { type RandomStream, randomStream } from '../../src/core/random.js'
import { type ChatMessage, collect, type Policy } from '../../src/engine/engine.js'
import { openLocalEngine } from '../../src/engine/local/index.js'
import { parseCritique } from '../../src/games/solver-critic/critique.js'
import { criticExample } from './critiques.js'
import { type Phase, publish, seed, trainPhase } from './training.js'

/** Share of parsed critiques, and of right verdicts on right and on wrong solutions that are new. */
async function verdicts(policy: Policy): Promise<string> {
  const stream = randomStream(seed, 'measure')
  const conversations = Array.from({ length: 256 }, () => criticExample(stream))
  const requests = conversations.map((messages, i) => ({
    prompt: policy.tokenizer.encodeChat(messages.slice(0, 1), { generationPrompt: true }),
    n: 1,
    seed: i,
  }))
  const params = { maxTokens: 320, temperature: 1, topP: 1, topK: 0, stop: [] }
  const seen = { parsed: 0, right: 0, 'right told': 0, wrong: 0, 'wrong told': 0, 'error found': 0 }
  for (const { request, text } of await collect(policy.sample(requests, params))) {
    const [asked, answer] = conversations[request]!
    const steps = asked!.content.split('\n').length - 1
    const due = parseCritique(answer!.content, steps)!
    const given = parseCritique(text, steps)
    const kind = due.correct ? 'right' : 'wrong'
    seen[kind]++
    if (!given) continue
    seen.parsed++
    if (given.correct === due.correct) seen[`${kind} told`]++
    if (!due.correct && given.firstError === due.firstError) seen['error found']++
  }
  const share = (count: number, of: number) => (count / of).toFixed(2)
  return [
    `parsed ${share(seen.parsed, conversations.length)}`,
    `right ${share(seen['right told'], seen.right)}`,
    `wrong ${share(seen['wrong told'], seen.wrong)}`,
    `first error ${share(seen['error found'], seen.wrong)}`,
  ].join(', ')
}

const phase: Phase = {
  name: 'critic',
  steps: 400,
  peakRate: 2e-3,
  conversations(step: number): ChatMessage[][] {
    const stream = randomStream(seed, 'critic', step)
    return [
      ...Array.from({ length: 64 }, () => singleStep(stream)),
      ...Array.from({ length: 128 }, () => criticExample(stream)),
    ]
  },
  measure: verdicts,
}

/** One step of a solution and what its critique says of it, flawed or sound as often. */
function singleStep(stream: RandomStream): ChatMessage[] {
  const wanted = stream.int(2) === 0 ? 'SOUND' : 'FLAWED'
  for (;;) {
    const [asked, answer] = criticExample(stream)
    const [, ...shown] = asked!.content.split('\n')
    const judged = answer!.content.split('\n').slice(0, shown.length)
    const found = judged.map((line, k) => (line.endsWith(wanted) ? k : -1)).filter((k) => k >= 0)
    if (found.length === 0) continue
    const k = stream.pick(found)
    return [
      { role: 'user', content: shown[k]! },
      { role: 'assistant', content: judged[k]! },
    ]
  }
}

const models = join(projectRoot(), 'models', 'tiny')
const work = join(projectRoot(), 'runs', 'starter-model', 'critic')
await rm(work, { recursive: true, force: true })
const engine = await openLocalEngine({ threads: 2 })
await trainPhase(engine, join(models, 'discriminator'), work, phase)
await publish(work, join(models, 'critic'))
await engine.close()
