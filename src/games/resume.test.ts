/** Games that are killed anywhere and resumed write what an undisturbed run writes: state, schedules, references, pools. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { quickDisk } from '../../test/support/disks.js'
import { filesOfRun, temporaryFolder } from '../../test/support/folders.js'
import { plainGrader } from '../../test/support/plain-grader.js'
import { playRun } from '../../test/support/play-run.js'
import { type Speech, speakingEngine } from '../../test/support/speaking-engine.js'
import { type Parts, parts } from '../runs/parts.js'
import { loadRecipe } from '../runs/recipe.js'
import { arithmetic } from '../worlds/arithmetic/index.js'
import { printCritique } from './solver-critic/critique.js'

const solver: Speech = (prompt, stream) => {
  const problem = /user\n([-+*()\d]+)/.exec(prompt)?.[1] ?? '1+1'
  const value = Number(arithmetic.solve(problem) ?? 0) + (stream.uniform() < 0.6 ? 0 : 1)
  return `${problem}=${value} \\boxed{${value}}`
}
const speeches: Record<string, Speech> = {
  solver,
  challenger: (_, stream) => `<problem>${stream.int(9)}+${stream.int(9)}*${stream.int(9)}</problem>`,
  critic(prompt, stream) {
    const steps = prompt.match(/^Step/gm)?.length ?? 1
    const correct = stream.int(2) === 0
    const sound = Array.from({ length: steps }, (_, k) => correct || k > 0)
    const [logic, answer] = [stream.int(11), stream.int(11)]
    const critique = {
      sound,
      logic,
      steps: 5,
      answer,
      correct,
      firstError: correct ? null : 1,
      feedback: 'Again.',
    }
    return stream.int(8) === 0
      ? 'mumbles'
      : printCritique(
          critique,
          sound.map(() => 'seen'),
        )
  },
}

const role = (name: string) => `${name}: {model: ${name}, optim: {learning_rate: 0.3}}`
const tail = 'checkpoint: {every: 2, keep: 2}, anchors: {every: 3, world: arithmetic}'
const games = {
  grpo: `{game: grpo, rounds: 5, roles: {${role('solver')}}, ${tail},
    settings: {problems_per_round: 2, problems_limit: 5, answers: 3, kl: 0.1}}`,
  'r-zero': `{game: r-zero, rounds: 8, roles: {${role('challenger')}, ${role('solver')}}, ${tail},
    settings: {challenger_rounds: 1, pool_rounds: 2, solver_rounds: 2, groups: 2, questions: 3, votes: 4,
               questions_per_round: 2, answers: 3, kl: 0.1}}`,
  'solver-critic': `{game: solver-critic, rounds: 7, roles: {${role('solver')}, ${role('critic')}}, ${tail},
    settings: {problems_per_round: 2, answers: 3, warmup: 2, solver_turns: 1, drift_every: 2, evidence_share: 0.4,
               revise: true, kl: 0.1, split: links}}`,
}

async function play(recipe: string, folder: string, hook: () => void, resume: boolean) {
  const file = join(temporaryFolder(), 'run.yaml')
  writeFileSync(file, recipe)
  const own: Parts = {
    ...parts,
    openEngine: async () => speakingEngine(speeches, hook),
    createGrader: async () => plainGrader,
  }
  const loaded = await loadRecipe(file, { loadGame: own.loadGame })
  await playRun(loaded, folder, own, { resume, disk: quickDisk })
}

describe.each(Object.entries(games))('%s', (_, recipe) => {
  it('goes on to the same numbers, wherever it was killed', async () => {
    let calls = 0
    const whole = join(temporaryFolder(), 'run')
    await play(recipe, whole, () => calls++, false)
    const expected = filesOfRun(whole)
    expect(expected['metrics.jsonl']).toContain('"solver/optim/steps":1')

    const points = Array.from({ length: 12 }, (_, i) => Math.round(((i + 0.5) * calls) / 12))
    for (const point of points) {
      const folder = join(temporaryFolder(), 'run')
      let count = 0
      const dies = () => {
        if (++count === point) throw new Error('killed')
      }
      await expect(play(recipe, folder, dies, false), `call ${point}`).rejects.toThrow('killed')
      await play(recipe, folder, () => {}, existsSync(join(folder, 'config.json')))
      expect(filesOfRun(folder), `call ${point}`).toEqual(expected)
    }
  })
})
