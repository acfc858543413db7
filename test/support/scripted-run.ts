/** Runs of every game, played by the real runner with policies that say what a script says. */
import { writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Engine, Policy } from '../../src/engine/engine.js'
import { loadGame } from '../../src/games/index.js'
import { printCritique } from '../../src/games/solver-critic/critique.js'
import type { MetricsLine } from '../../src/runs/directory.js'
import type { Parts } from '../../src/runs/parts.js'
import { loadRecipe } from '../../src/runs/recipe.js'
import { plainGrader } from './plain-grader.js'
import { playRun } from './play-run.js'
import { type Script, scriptedPolicy } from './scripted.js'

const scripts: Record<string, Script> = {
  proposer: (_, i) => `</think><problem>Question ${i} of the game?</problem><answer>\\boxed{right}</answer>`,
  solver: (prompt, j) =>
    `1+1=2 \\boxed{${j < Number(/Question (\d)/.exec(prompt)?.[1]) ? 'right' : 'wrong'}}`,
  challenger: (_, i) => `<problem>Question ${i} of the game?</problem>`,
  critic: (prompt, m) => {
    const sound = [...prompt.matchAll(/^Step \d/gm)].map(() => m === 0)
    const firstError = m === 0 ? null : 1
    const scores = { logic: 9, steps: 9, answer: 9 - m }
    const critique = { sound, ...scores, correct: m === 0, firstError, feedback: 'Again.' }
    return printCritique(
      critique,
      sound.map(() => 'seen'),
    )
  },
  reasoner: (_, j) => `${j}+1=${j < 3 ? j + 1 : j}\n2+2=4</think>\\boxed{${j < 3 ? 'right' : 'wrong'}}`,
  discriminator: (prompt) => `**${/(\d)\+1=\1/.test(prompt) ? 'NO' : 'YES'}**`,
  student: () => '',
}

/** A scripted policy whose policy losses report ratios, as those of every real engine do. */
function policyOf(role: string): Policy {
  const policy = scriptedPolicy(scripts[role]!)
  const { forwardBackward } = policy
  const ratio = { mean: 1, max: 1, clippedLow: 0, clippedHigh: 0, klSampler: 0 }
  policy.forwardBackward = async (data, loss) => ({
    ...(await forwardBackward(data, loss)),
    ...(loss.name !== 'cross_entropy' && { ratio }),
  })
  return policy
}

const engine: Engine = {
  capabilities: { name: 'scripted', exactEntropy: true, deterministic: true, temperedLoss: true },
  open: async ({ model }) => policyOf(basename(model)),
  planMemory: async () => ({ parts: [], totalBytes: 0, availableBytes: 0 }),
  peakMemory: () => undefined,
  close: async () => {},
}

const parts: Parts = {
  loadGame,
  openEngine: async () => engine,
  createGrader: async () => plainGrader,
  loadWorld: async () => ({
    name: 'arithmetic',
    solve: () => 'right',
    holds: (step) => !/(\d)\+1=\1/.test(step),
  }),
  readProblems: async () => [],
  heldoutProblems: async () => [{ problem: 'One of its own?', answer: 'right' }],
  leveledProblems: async () => [{ problem: 'An easy one?', answer: 'right', level: '1' }],
}

/**
 * Plays a run file into `folder`, which is made; beside it come the data that a run file may name: conversations.jsonl,
 * problems.jsonl and knowledge.jsonl. The lines of its metrics.jsonl.
 */
export async function scriptedRun(folder: string, runFile: string): Promise<MetricsLine[]> {
  const beside = dirname(folder)
  const file = join(beside, 'run.yaml')
  writeFileSync(file, runFile)
  const messages = ['ask', 'answer'].map((content, i) => ({ role: i ? 'assistant' : 'user', content }))
  writeFileSync(join(beside, 'conversations.jsonl'), `${JSON.stringify({ messages })}\n`.repeat(4))
  const knowledge = { text: 'Sums of two numbers.\n\nAnd more.' }
  writeFileSync(join(beside, 'knowledge.jsonl'), JSON.stringify(knowledge))
  const steps = (i: number) => [1, 2, 3, 4, 5, 6, 7, 8].map((n) => `${n}+${i}=${n + i}`).join('\n')
  const problems = [2, 4, 6].map((i) =>
    JSON.stringify({ problem: `Question ${i} of the game?`, answer: 'right', generations: [steps(i)] }),
  )
  writeFileSync(join(beside, 'problems.jsonl'), problems.join('\n'))
  const loaded = await loadRecipe(file, { loadGame })
  return (await playRun(loaded, folder, parts)).history
}
