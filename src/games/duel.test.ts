/** The duels of the games: which tasks count, and what earns a point. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../test/support/folders.js'
import { type Script, scriptedContext, scriptedPolicy } from '../../test/support/scripted.js'
import type { AnyGame, Duel, World } from './game.js'
import { gar } from './gar/game.js'
import { pasodoble } from './pasodoble/game.js'
import { rZero } from './r-zero/game.js'
import { printCritique } from './solver-critic/critique.js'
import { solverCritic } from './solver-critic/game.js'

/** Sets up a game, lets the setter set n tasks and the taker take them on; trains nobody. */
async function duel(
  game: AnyGame,
  settings: object,
  scripts: Record<string, Script>,
  { world, n = 6 }: { world?: World; n?: number } = {},
) {
  const config = game.config.parse(settings)
  const policies = Object.fromEntries(
    Object.entries(scripts).map(([role, script]) => [role, scriptedPolicy(script)]),
  )
  const given = { config, policies, ...(world && { world }) }
  await game.setup(scriptedContext(given))
  const ctx = scriptedContext(given)
  const play = game.duel!(config) as Duel
  const tasks = await play.set(ctx, n)
  const asked = { ...policies }
  const before = asked[play.taker]!.asked.length
  const results = await play.take(ctx, tasks)
  expect(before).toBe(0)
  expect(Object.values(policies).flatMap(({ trained }) => trained)).toEqual([])
  return { tasks, results, points: results.map(({ points }) => points), policies, play }
}

let proposed = 0
/** Every third completion is malformed, and every third shows its answer. */
const proposer: Script = () => {
  const i = proposed++ % 3
  const question = i === 1 ? `Is it answer${i}?` : `What is ${i}?`
  return i === 2 ? 'no question' : `</think><problem>${question}</problem>\\boxed{answer${i}}`
}

describe('the duel of PasoDoble', () => {
  it('puts sound questions alone, one a text, against the label', async () => {
    proposed = 0
    const solver: Script = (prompt) => `\\boxed{${prompt.includes('What is 0?') ? 'answer0' : 'x'}}`
    const { tasks, points } = await duel(pasodoble, {}, { proposer, solver })
    expect(tasks).toEqual([
      { question: 'What is 0?', gold: 'answer0' },
      { question: 'What is 0?', gold: 'answer0' },
    ])
    expect(points).toEqual([1, 1])
  })

  it('takes the true answer where the world knows it, and leaves out what it cannot read', async () => {
    proposed = 0
    const world: World = { name: 'w', solve: (question) => (question.includes('0') ? 'truth' : undefined) }
    const { tasks, points } = await duel(
      pasodoble,
      {},
      { proposer, solver: () => '\\boxed{answer0}' },
      { world },
    )
    expect(tasks).toEqual(Array(2).fill({ question: 'What is 0?', gold: 'truth' }))
    expect(points).toEqual([0, 0])
  })

  it('gives no points for a question that is too long to be put', async () => {
    proposed = 0
    const settings = { solver: { max_prompt_tokens: 10 } }
    const { points, policies } = await duel(pasodoble, settings, { proposer, solver: () => 'x' })
    expect(points).toEqual([null, null])
    expect(policies.solver!.asked).toEqual([])
  })
})

describe('the duel of R-Zero', () => {
  it('takes what the challenger boxes, where there is no world that knows', async () => {
    const challenger: Script = () => '<problem>How many?</problem> \\boxed{12}'
    const { tasks, points, play } = await duel(
      rZero,
      { kl: 0 },
      { challenger, solver: () => '\\boxed{12}' },
      { n: 3 },
    )
    expect(play).toMatchObject({ setter: 'challenger', taker: 'solver' })
    expect(tasks).toEqual(Array(3).fill({ question: 'How many?', gold: '12' }))
    expect(points).toEqual([1, 1, 1])
  })
})

function problems(n: number): string {
  const path = join(temporaryFolder(), 'problems.jsonl')
  const line = (i: number) => ({
    problem: `Question ${i}?`,
    answer: 'right',
    generations: [`<think>${i}+1=2\n1+${i}=2</think>\\boxed{right}`],
  })
  writeFileSync(path, Array.from({ length: n }, (_, i) => `${JSON.stringify(line(i))}\n`).join(''))
  return path
}

describe('the duel of GAR', () => {
  const settings = () => ({
    data: { path: problems(4) },
    slicer: { min_tokens: 1, markers: [] },
    probe_every: 0,
  })
  const reasoner: Script = (prompt) =>
    `a false step\na true step\n</think>\\boxed{${/Question [01]/.test(prompt) ? 'right' : 'wrong'}}`

  it('asks for verdicts on slices, true where the answer is, and counts both kinds', async () => {
    const { results } = await duel(gar, settings(), { reasoner, discriminator: () => '**YES**' }, { n: 4 })
    expect(results).toHaveLength(4)
    for (const { points, kind } of results) expect(points).toBe(kind === 'sound' ? 1 : 0)
    expect(new Set(results.map(({ kind }) => kind))).toEqual(new Set(['sound', 'flawed']))
  })

  it('believes the world where it knows the step', async () => {
    const world: World = { name: 'w', solve: () => undefined, holds: (step) => step.includes('true') }
    const discriminator: Script = (prompt) => `**${prompt.includes('a true step') ? 'YES' : 'NO'}**`
    const { points } = await duel(gar, settings(), { reasoner, discriminator }, { world, n: 4 })
    expect(points).toEqual([1, 1, 1, 1])
  })

  it('is none where nobody judges', () => {
    const config = gar.config.parse({
      data: { path: problems(1) },
      judge: 'none',
      lambda2: 0,
      train_discriminator: false,
    })
    expect(gar.duel!(config)).toBeUndefined()
  })
})

describe('the duel of solver and critic', () => {
  const solver: Script = (prompt) => `1+1=2\n\\boxed{${/Question [01]/.test(prompt) ? 'right' : 'wrong'}}`
  const saying = (correct: boolean): Script => {
    return (prompt) => {
      const sound = [...prompt.matchAll(/^Step \d/gm)].map(() => true)
      const critique = { sound, logic: 9, steps: 9, answer: 9, correct, firstError: null, feedback: 'Again.' }
      return printCritique(
        critique,
        sound.map(() => 'seen'),
      )
    }
  }

  it('asks whether solutions are right, also in a game without answer key', async () => {
    for (const labels of ['gold', 'majority']) {
      const settings = { problems: problems(4), labels, kl: 0, drift_every: 0 }
      const { results } = await duel(solverCritic, settings, { solver, critic: saying(true) }, { n: 4 })
      const sorted = results.map(({ points, kind }) => `${kind} ${points}`).sort()
      expect(sorted).toEqual(['right 1', 'right 1', 'wrong 0', 'wrong 0'])
    }
  })

  it('gives nothing for a critique that cannot be read', async () => {
    const settings = { problems: problems(4), kl: 0, drift_every: 0 }
    const { points } = await duel(solverCritic, settings, { solver, critic: () => 'well' }, { n: 4 })
    expect(points).toEqual([0, 0, 0, 0])
  })
})
