/** From a completion to the trajectory that is judged and trained. */
import type { Rollout } from '../../core/rollout.js'
import type { GameContext } from '../game.js'
import type { Config } from './config.js'
import { cutPieces, evenlySpaced } from './cut.js'
import { counter } from './library.js'
import type { Trajectory } from './play.js'
import { tokensForText } from './verdict.js'

type Context = GameContext<Config>

/** Whether traces end after some slices, without an answer. */
export const isPartial = ({ partial_slices }: Config) => partial_slices > 0

/** Most tokens of a completion: those that hold the slices of a partial trace with some room. */
export function longestCompletion({ partial_slices, slicer, reasoner }: Config): number {
  const enough = partial_slices * slicer.max_tokens + 64
  return partial_slices > 0 ? Math.min(enough, reasoner.max_tokens) : reasoner.max_tokens
}

/** A partial trace ends behind its last slice: what follows is neither judged nor trained. */
export function cutTrajectory(ctx: Context, group: number, rollout: Rollout): Trajectory {
  const { config } = ctx
  if (config.judge === 'none') return { group, rollout, pieces: [] }
  const pieces = cutPieces(rollout.text, rollout.stop === 'length', config, counter(ctx))
  const end = pieces.at(-1)?.end
  const isFull = isPartial(config) && pieces.length === config.partial_slices
  return {
    group,
    rollout: isFull ? upTo(ctx, rollout, end!) : rollout,
    pieces: evenlySpaced(pieces, config.max_slices),
  }
}

function upTo({ roles }: Context, rollout: Rollout, end: number): Rollout {
  const { tokenizer } = roles.reasoner!.policy
  if (end >= rollout.text.length) return rollout
  const length = tokensForText(tokenizer, rollout.tokens, end)
  const { entropies } = rollout
  return {
    ...rollout,
    tokens: rollout.tokens.subarray(0, length),
    logprobs: rollout.logprobs.subarray(0, length) as Rollout['logprobs'],
    ...(entropies && { entropies: entropies.subarray(0, length) }),
    text: rollout.text.slice(0, end),
    stop: 'stop',
  }
}
