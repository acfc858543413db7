import { describe, expect, it } from 'vitest'
import type { Demand } from '../games/game.js'
import { loadGame } from '../games/index.js'
import { forecast } from './forecast.js'
import { loadRecipe, recipeNames } from './recipe.js'

const load = (name: string, ...set: string[]) => loadRecipe(name, { loadGame, set })

describe('a forecast', () => {
  it.each(recipeNames())('%s: agrees with the largest demands of the memory plan', async (name) => {
    const { game, recipe } = await load(name)
    const demands = Object.values<Demand>(game.demands!(recipe.settings))
    const workload = game.workload!(recipe.settings)
    const lengths = demands.flatMap(({ sampled, trained }) => [
      ...sampled.map(({ promptTokens, completionTokens }) => promptTokens + completionTokens),
      ...(trained ? [trained.tokens] : []),
    ])
    expect(Math.max(...lengths)).toBe(workload.longestSequence)
    const rows = demands.flatMap(({ sampled }) =>
      sampled.map(({ prompts, completions }) => prompts * completions),
    )
    expect(Math.max(0, ...rows)).toBe(workload.sampleRows)
    const steps = demands.flatMap(({ trained }) =>
      trained ? [(trained.sequences / trained.steps) * trained.tokens] : [],
    )
    expect(Math.max(...steps)).toBe(workload.trainTokens)
  })

  it('counts what is sampled in some rounds only in those', async () => {
    const { roles, run } = forecast(await load('gar-r1-distill-qwen-7b-1-discriminator-sft'))!
    // 256 verdicts of 128 tokens every 50 of 500 rounds.
    expect(roles.discriminator!.sampledTokens).toBe(256 * 128)
    expect(run.sampledTokens).toBe(10 * 256 * 128)
    expect(run.trainedTokens).toBe(500 * 128 * 1024)
  })

  it('of a role that does not learn has neither steps nor adapters of its own but its seat', async () => {
    const server = ['engine={kind: tinker}', 'roles.proposer.lora={}', 'roles.solver.lora={}']
    const frozen = forecast(await load('pasodoble-frozen-proposer-tiny', ...server))!
    expect(frozen.roles.proposer).toMatchObject({ trainedTokens: 0, steps: 0 })
    const selfPlay = forecast(await load('pasodoble-self-play-tiny', ...server))!
    expect(selfPlay.server!.adapters).toEqual([{ role: 'solver', rank: 16 }])
    expect(Object.keys(selfPlay.roles)).toEqual(['proposer', 'solver'])
  })

  it('of a KL term counts the second pass and the scores of the start weights', async () => {
    const kl = async (coefficient: number) => {
      const set = ['engine={kind: tinker}', 'roles.solver.lora={}', `settings.kl=${coefficient}`]
      return forecast(await load('grpo-tiny', ...set))!.server!
    }
    const [without, withIt] = [await kl(0), await kl(0.1)]
    expect(withIt.requests.forward_backward).toBe(2 * without.requests.forward_backward!)
    expect([without.copies, withIt.copies]).toEqual([0, 1])
    expect(without.requests.compute_logprobs).toBeUndefined()
    expect(withIt.requests.compute_logprobs).toBeGreaterThan(0)
  })

  it('is none of a game that does not say what it asks for', async () => {
    const loaded = await load('grpo-tiny')
    const { demands: _, ...silent } = loaded.game
    expect(forecast({ ...loaded, game: silent })).toBeUndefined()
  })
})
