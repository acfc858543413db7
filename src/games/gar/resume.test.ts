import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { quickDisk } from '../../../test/support/disks.js'
import { fakeEngine, type Hook } from '../../../test/support/fake-engine.js'
import { fakeParts } from '../../../test/support/fake-parts.js'
import { filesOfRun, temporaryFolder } from '../../../test/support/folders.js'
import { playRun } from '../../../test/support/play-run.js'
import { boxGrader } from '../../../test/support/scripted.js'
import type { Engine, FrozenPolicy, Policy } from '../../engine/engine.js'
import { loadRecipe } from '../../runs/recipe.js'
import { loadGame } from '../index.js'

/** What a completion says is told by its tokens: reasoning of two steps, or a verdict. */
const speeches: Record<string, (a: number, b: number, c: number) => string> = {
  reasoner: (a, b, c) => `${a}+${b}=${a + b}\n${b}+${c}=${b + c}</think>\\boxed{${c % 2}}`,
  discriminator: (a, b) => `${a}\n**${b % 2 ? 'YES' : 'NO'}**`,
}

/** The fake engine's policies, whose tokens are drawn by their weights, made to speak as their role does. */
function speakingEngine(hook?: Hook): Engine {
  const engine = fakeEngine(hook)
  const speaking = <P extends FrozenPolicy>(policy: P, role: string): P => {
    const sample = policy.sample.bind(policy)
    policy.sample = async function* (requests, params) {
      for await (const rollout of sample(requests, params)) {
        const [a, b, c] = rollout.tokens as unknown as [number, number, number]
        yield { ...rollout, text: speeches[role]!(a, b, c) }
      }
    }
    return policy
  }
  return {
    ...engine,
    async open(spec) {
      const policy: Policy = speaking(await engine.open(spec), spec.model.split('/').at(-1)!)
      const snapshot = policy.snapshot.bind(policy)
      policy.snapshot = async () => speaking(await snapshot(), spec.model.split('/').at(-1)!)
      return policy
    },
  }
}

const rows = Array.from({ length: 7 }, (_, i) => ({
  problem: `${i}+1=?`,
  answer: `${i % 2}`,
  generations: [`${i}+1=${i + 1}\n1+1=2</think>`],
}))

const optim = (schedule: string) =>
  `optim: {learning_rate: 0.3, schedule: {shape: ${schedule}, warmup: 0.2, floor: 0.5}}`
const slicer = 'slicer: {markers: [], min_tokens: 1}'

const games = {
  gar: (settings: string) => `
game: gar
rounds: 8
roles:
  reasoner: {model: reasoner, ${optim('cosine')}}
  discriminator: {model: discriminator, ${optim('linear')}}
settings: {data: {path: rows.jsonl}, problems_per_round: 2, answers: 3, ${slicer}, ${settings}}
checkpoint: {every: 3, keep: 2}
`,
  'gar-sft': (settings: string) => `
game: gar-sft
rounds: 8
roles: {discriminator: {model: discriminator, ${optim('cosine')}}}
settings: {data: {path: rows.jsonl}, batch_size: 3, validation_share: 0.3, validate_every: 2, ${slicer}, ${settings}}
checkpoint: {every: 3, keep: 2}
`,
}

async function play(folder: string, runFile: string, hook?: Hook, resume = false) {
  const file = join(folder, '..', 'run.yaml')
  writeFileSync(file, runFile)
  writeFileSync(join(folder, '..', 'rows.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  const loaded = await loadRecipe(file, { loadGame })
  const openEngine = async () => speakingEngine(hook)
  const parts = { ...fakeParts(), loadGame, openEngine, createGrader: async () => boxGrader() }
  return (await playRun(loaded, folder, parts, { resume, disk: quickDisk })).history
}

describe.each<[string, keyof typeof games, string]>([
  ['full, with the guard at work', 'gar', 'guard_rounds: 2, guard_margin: 0.5, calibration_slices: 6'],
  ['with a verdict loss and probes', 'gar', 'rd_form: bce, probe_every: 3, probe_slices: 4'],
  ['partial', 'gar', 'variant: partial, partial_slices: 1, verdicts: 2, references: unpaired'],
  ['fine-tuning that ends early', 'gar-sft', 'patience: 2'],
])('%s', (_, game, settings) => {
  it('is the same run wherever it was killed', async () => {
    const runFile = games[game](settings)
    const undisturbed = join(temporaryFolder(), 'run')
    let calls = 0
    const history = await play(undisturbed, runFile, () => calls++)
    const expected = filesOfRun(undisturbed)
    const trained = history.filter((line) => Number(line['discriminator/optim/grad_norm']) > 0)
    expect(trained.length).toBeGreaterThan(2)

    const stride = Math.ceil(calls / 24)
    for (let last = 2; last <= calls; last += stride) {
      let count = 0
      const hook = () => {
        if (++count === last) throw new Error('killed')
      }
      const folder = join(temporaryFolder(), 'run')
      await expect(play(folder, runFile, hook), `call ${last}`).rejects.toThrow('killed')
      await play(folder, runFile, undefined, existsSync(join(folder, 'config.json')))
      expect(filesOfRun(folder), `call ${last}`).toEqual(expected)
    }
  }, 120_000)
})

it('the guard lowers lambda3 in a run, and a resumed run remembers it', async () => {
  const settings = 'guard_rounds: 2, guard_margin: 0.5'
  const history = await play(join(temporaryFolder(), 'run'), games.gar(settings))
  const weights = history.flatMap((line) => line['discriminator/lambda3'] ?? [])
  expect(weights[0]).toBe(1)
  expect(weights.at(-1)).toBeLessThan(1)
})
