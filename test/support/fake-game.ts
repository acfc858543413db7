/** A game of two roles that trains both a little each round and keeps a history: the least that a runner must carry. */
import { z } from 'zod'
import { joinSequence, placeOnCompletion } from '../../src/core/datum.js'
import { DataError } from '../../src/core/errors.js'
import { collect } from '../../src/engine/engine.js'
import type { Game, GameContext, RolloutRecord } from '../../src/games/game.js'
import { completionFields } from '../../src/games/grpo/completion.js'

const config = z.strictObject({
  questions: z.int().min(1).default(3).describe('Prompts a round'),
  answer_reward: z.enum(['match', 'random']).default('match').describe('What an answer is paid for'),
  broken: z.boolean().default(false).describe('Whether the run cannot begin'),
  /** Milliseconds a round takes at least, so that a test can kill it. */
  pause: z.number().min(0).default(0).describe('Milliseconds that a round waits'),
})

type Config = z.output<typeof config>
type State = { history: number[]; note?: string }

export const fakeGame: Game<Config, State> = {
  name: 'fake',
  summary: 'Two roles that train on noise.',
  roles: ['proposer', 'solver'],
  config,
  async setup({ config }) {
    if (config.broken) throw new DataError('There is nothing to play with.')
    return { history: [] }
  },
  async round(ctx, state) {
    await new Promise((resolve) => setTimeout(resolve, ctx.config.pause))
    const rollouts = [...(await play(ctx, 'proposer')), ...(await play(ctx, 'solver'))]
    const reward = rollouts.reduce((sum, rollout) => sum + rollout.reward, 0)
    const metrics = { 'solver/reward/mean': reward / rollouts.length, 'solver/odd': Number.NaN }
    return { state: { history: [...state.history, reward].slice(-5) }, report: { metrics, rollouts } }
  },
}

async function play(ctx: GameContext<Config>, name: string): Promise<RolloutRecord[]> {
  const role = ctx.roles[name]!
  const prompt = role.policy.tokenizer.encode('1+1=?')
  const requests = Array.from({ length: ctx.config.questions }, (_, i) => ({
    prompt,
    n: 2,
    seed: ctx.seed(name, i),
  }))
  ctx.phase(`${name} samples`, 0, requests.length)
  const params = { maxTokens: 8, temperature: 1, topP: 1, topK: 0, stop: [] }
  const rollouts = await collect(role.policy.sample(requests, params, ctx.signal))
  const rewards = rollouts.map(() => ctx.random(name, 'reward').uniform())
  const data = rollouts.map(({ tokens }, i) => {
    const sequence = joinSequence(prompt, tokens)
    return {
      ...sequence,
      advantages: placeOnCompletion(sequence, new Float32Array(tokens.length).fill(rewards[i]!)),
    }
  })
  await role.policy.forwardBackward(data, { name: 'importance_sampling', temperature: 1 })
  await role.policy.optimStep(role.adam)
  return rollouts.map((rollout, i) => ({
    role: name,
    group: rollout.request,
    index: rollout.index,
    prompt: '1+1=?',
    ...completionFields(rollout, role.policy.tokenizer),
    reward: rewards[i]!,
    parts: {},
    advantage: rewards[i]!,
    trained: true,
  }))
}
