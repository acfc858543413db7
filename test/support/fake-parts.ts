/** The parts of a run with the fake engine and game, and a grader of equal strings. */
import type { Verdict } from '../../src/grader/grader.js'
import type { Parts } from '../../src/runs/parts.js'
import { fakeEngine, type Hook } from './fake-engine.js'
import { fakeGame } from './fake-game.js'

export function fakeParts(hook?: Hook): Parts {
  return {
    loadGame: async () => fakeGame,
    openEngine: async () => fakeEngine(hook),
    createGrader: async () => ({ grade: async (cases) => cases.map(verdict), close: async () => {} }),
    loadWorld: async () => ({ name: 'arithmetic', solve: () => undefined }),
    readProblems: async (_path, n) => problems(n),
    heldoutProblems: async (_world, n) => problems(n),
    leveledProblems: async (_from, n) =>
      ['1', '2'].flatMap((level) => problems(n).map((each) => ({ ...each, level }))),
  }
}

function verdict({ gold, prediction }: { gold: string; prediction: string }): Verdict {
  const extracted = /\\boxed\{(.*)\}/.exec(prediction)?.[1] ?? null
  const equal = extracted?.includes(gold) ?? false
  return { equal, extracted, reason: equal ? 'equal' : 'different', ms: 0 }
}

function problems(n: number) {
  return Array.from({ length: n }, (_, i) => ({ problem: `${i}+1=?`, answer: `${(i + 1) % 10}` }))
}

/** A run file for the fake game. */
export const fakeRecipe = `
game: fake
rounds: 20
roles:
  proposer: {model: anywhere, optim: {learning_rate: 0.05}}
  solver: {model: anywhere, optim: {learning_rate: 0.1, schedule: {shape: linear}}}
checkpoint: {every: 4, keep: 2}
anchors: {every: 5, heldout: {role: solver, problems: arithmetic, n: 10, samples: 2}}
`
