/** The reasoner's slices before the discriminator, outside the game. */
import { encodePrompt } from '../chat.js'
import type { Duel } from '../game.js'
import { sampleGroups } from '../grpo/sampling.js'
import { takeInPasses } from '../passes.js'
import { checkAnswers } from './answers.js'
import type { Config } from './config.js'
import { evenlySpaced } from './cut.js'
import { judgeSlices } from './judge.js'
import { library } from './library.js'
import type { Exhibit } from './play.js'
import { reasonerPrompt } from './prompts.js'
import { cutTrajectory, isPartial, longestCompletion } from './trajectories.js'

/** A slice and what its verdict should be. */
interface Task {
  exhibit: Exhibit
  sound: boolean
}

/**
 * n slices, evenly spaced over one completion of each of n problems. What the verdict should be is what the run's world says of the
 * step; where it says nothing, whether the completion's answer is right. A slice of which neither is known does not count.
 */
export const duel: Duel<Config, Task> = {
  setter: 'reasoner',
  taker: 'discriminator',
  point: 'a verdict of the discriminator that is true',

  async set(ctx, n) {
    const { config, world } = ctx
    const { problems, seed } = await library(ctx)
    const { tokenizer } = ctx.roles.reasoner!.policy
    const posed = takeInPasses(problems, 0, n, seed)
      .map((each) => ({
        ...each,
        prompt: encodePrompt(tokenizer, reasonerPrompt(config.reasoner, each.problem)),
      }))
      .filter(({ prompt }) => prompt.length <= config.reasoner.max_prompt_tokens)
    const prompts = posed.map(({ prompt }) => prompt)
    const sampling = { ...config.reasoner, max_tokens: longestCompletion(config) }
    const rollouts = await sampleGroups(ctx, 'reasoner', prompts, 1, sampling)
    const outcomes = isPartial(config) ? null : await checkAnswers(ctx, posed, rollouts)
    const tasks = posed.flatMap(({ problem: question }, group) => {
      const right = outcomes?.[group]?.[0]?.right
      const { pieces } = cutTrajectory(ctx, group, rollouts[group]![0]!)
      return pieces.flatMap(({ shown }, piece): Task[] => {
        const sound = world?.holds?.(shown, piece === 0 ? question : undefined) ?? right
        const exhibit: Exhibit = { group, source: 0, question, shown, trajectory: 0, piece }
        return sound === undefined ? [] : [{ exhibit, sound }]
      })
    })
    return evenlySpaced(tasks, n)
  },

  async take(ctx, tasks) {
    const exhibits = tasks.map(({ exhibit }) => exhibit)
    const judgments = await judgeSlices(ctx, exhibits, { n: 1, measured: 0 })
    const of = new Map(judgments.map((judgment) => [judgment.exhibit, judgment.verdict]))
    return tasks.map(({ sound }, i) => ({
      points: of.has(i) ? Number(of.get(i) === Number(sound)) : null,
      kind: sound ? 'sound' : 'flawed',
    }))
  },
}
