import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { RolloutRecord } from '../src/games/game.js'
import { mean } from '../src/games/grpo/advantages.js'
import type { MetricsLine } from '../src/runs/directory.js'
import { parts } from '../src/runs/parts.js'
import { type LoadedRecipe, loadRecipe } from '../src/runs/recipe.js'
import { temporaryFolder } from '../test/support/folders.js'
import { playRun } from '../test/support/play-run.js'
import { defaults, play, type Settings } from './pasodoble-from-scratch.js'

type Played = Awaited<ReturnType<typeof play>>

/** The product's recipe, with the example's settings if they are given. */
function recipe(s?: Settings): Promise<LoadedRecipe> {
  const set = s && [
    `seed=${s.seed}`,
    `rounds=${s.rounds}`,
    `roles.proposer.optim.learning_rate=${s.proposer.learningRate}`,
    `roles.solver.optim.learning_rate=${s.solver.learningRate}`,
    `settings.texts_per_round=${s.texts}`,
    `settings.questions=${s.questions}`,
    `settings.answers=${s.answers}`,
    `settings.tau_low=${s.tauLow}`,
    `settings.tau_high=${s.tauHigh}`,
    `settings.w=${s.w}`,
    `settings.tau_div=${s.tauDiv}`,
    `settings.tau_sim=${s.tauSim}`,
    `settings.history_size=${s.historySize}`,
    `settings.clip_low=${s.clip}`,
    `settings.clip_high=${s.clip}`,
    `settings.proposer.max_tokens=${s.proposer.maxTokens}`,
    `settings.proposer.temperature=${s.temperature}`,
    `settings.solver.max_tokens=${s.solver.maxTokens}`,
    `settings.solver.max_prompt_tokens=${s.solverPrompt}`,
    `settings.solver.temperature=${s.temperature}`,
    `anchors.heldout.n=${s.heldout}`,
    `anchors.heldout.max_tokens=${s.solver.maxTokens}`,
    `anchors.heldout.temperature=${s.temperature}`,
  ]
  return loadRecipe('pasodoble-tiny', { ...(set && { set }), loadGame: parts.loadGame })
}

async function playProduct(loaded: LoadedRecipe, folder: string): Promise<MetricsLine[]> {
  return (await playRun(loaded, folder, parts)).history
}

/** The numbers of the example by the product's names. */
function metricsOf({ questions, proposerSteps, solverSteps }: Played['rounds'][number]) {
  const ofSteps = (role: string, steps: { loss: number; gradNorm: number }[]) => ({
    [`${role}/optim/steps`]: steps.length,
    ...(steps.length > 0 && {
      [`${role}/loss`]: mean(steps.map((step) => step.loss)),
      [`${role}/optim/grad_norm`]: mean(steps.map((step) => step.gradNorm)),
    }),
  })
  return {
    'pass_rate/mean': mean(questions.map((q) => q.passRate)),
    'proposer/reward/mean': mean(questions.map((q) => q.reward)),
    'solver/reward/mean': mean(questions.flatMap((q) => q.rewards)),
    ...ofSteps('proposer', proposerSteps),
    ...ofSteps('solver', solverSteps),
  }
}

const heldoutMetrics = ({ sampled, greedy }: Played['before']) => ({
  'heldout/accuracy': sampled,
  'heldout/greedy': greedy,
})

/** What each question and each answer of a round was and earned, in the order of the product's records. */
function rolloutsOf({ questions }: Played['rounds'][number]) {
  return {
    proposer: questions.map((q) => [q.proposal.text, q.question, q.label, q.passRate, q.valid, q.reward]),
    solver: questions.flatMap((q) => q.rollouts.map(({ text }, j) => [text, q.question, q.rewards[j]])),
  }
}

function recordsOf(folder: string, round: number) {
  const read = (role: string) => {
    const path = join(folder, 'rollouts', `round-00000${round}`, `${role}.jsonl`)
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
    return lines.map((line) => JSON.parse(line) as RolloutRecord)
  }
  return {
    proposer: read('proposer').map(({ text, parts, reward }) => {
      return [text, parts.question, parts.answer, parts.pass_rate, parts.valid_for_solver, reward]
    }),
    solver: read('solver').map(({ text, parts, reward }) => [text, parts.question, reward]),
  }
}

describe('PasoDoble from scratch', () => {
  it('comes to the numbers of the product, to the bit', async () => {
    const folder = temporaryFolder()
    const size = { rounds: 3, texts: 2, questions: 5, answers: 4, heldout: 16 }
    // So that questions are forgotten, and many count as repeated.
    const strict = { historySize: 12, tauSim: 0.5, tauDiv: 0.75 }
    const settings = { ...defaults, ...size, ...strict, out: join(folder, 'example') }
    const played = await play(settings, () => {})
    const run = join(folder, 'product')
    const [start, ...lines] = await playProduct(await recipe(settings), run)

    expect(start).toMatchObject(heldoutMetrics(played.before))
    expect(lines).toHaveLength(size.rounds)
    for (const [i, line] of lines.entries()) {
      expect(rolloutsOf(played.rounds[i]!)).toEqual(recordsOf(run, i + 1))
      expect(line).toMatchObject(metricsOf(played.rounds[i]!))
    }
    expect(lines.at(-1)).toMatchObject(heldoutMetrics(played.after))
    for (const role of ['proposer', 'solver']) {
      const weights = (...path: string[]) => readFileSync(join(folder, ...path, role, 'model.safetensors'))
      const same = weights('example').equals(weights('product', 'checkpoints', '000003'))
      expect(same, `weights of the ${role}`).toBe(true)
      const trained = lines.filter((line) => line[`${role}/optim/steps`]! > 0)
      expect(trained.length, `rounds in which the ${role} learned`).toBeGreaterThan(1)
    }
  })

  it('has the settings of the product', async () => {
    expect((await recipe(defaults)).recipe).toEqual((await recipe()).recipe)
  })
})
