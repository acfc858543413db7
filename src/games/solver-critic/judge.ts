/** The critic's critiques, and what each earns. */
import type { Rollout } from '../../core/rollout.js'
import type { GameContext } from '../game.js'
import { mean } from '../grpo/advantages.js'
import { sampleGroups } from '../grpo/sampling.js'
import type { Config } from './config.js'
import { type Critique, parseCritique, scoreOf } from './critique.js'
import {
  agreement,
  type CriticParts,
  classWeights,
  criticReward,
  evidence,
  isCoherent,
  ranking,
} from './rewards.js'
import type { Exhibit, Judged, Judgement } from './solution.js'

type Context = GameContext<Config>

/** An exhibit with its critiques, read. */
export interface Read extends Exhibit {
  critiques: { rollout: Rollout; critique: Critique | null }[]
  critique: number | undefined
}

/** M critiques of every exhibit that fits the critic's prompt. */
export async function critiqueAll(ctx: Context, exhibits: readonly Exhibit[]): Promise<Read[]> {
  const { critic, critiques: n } = ctx.config
  const prompts = exhibits.map(({ prompt }) => prompt)
  const groups = await sampleGroups(ctx, 'critic', prompts, n, critic)
  return exhibits.map((exhibit, i) => {
    const critiques = groups[i]!.map((rollout) => ({
      rollout,
      critique: parseCritique(rollout.text, exhibit.steps.length),
    }))
    const scores = critiques.flatMap(({ critique }) => (critique ? scoreOf(critique) : []))
    return { ...exhibit, critiques, critique: scores.length === 0 ? undefined : mean(scores) }
  })
}

/** The reward of every critique; `right` is the share of right solutions, by which outcome alignment is weighted. */
export function judge(read: readonly Read[], right: number, config: Config): Judged[] {
  const weights = classWeights(right)
  return read.map(({ critiques, ...exhibit }) => {
    const rank = exhibit.kind === 'solution' ? rankOf(exhibit, read) : undefined
    const judgements = critiques.map(({ rollout, critique }, m): Judgement => {
      if (critique === null) {
        return { rollout, critique, fooled: false, parts: {}, reward: criticReward(null, false, config) }
      }
      const others = critiques.filter((_, other) => other !== m).map((other) => other.critique)
      const fooled = exhibit.kind === 'solution' && !exhibit.right && critique.correct
      const agreeing = agreement(critique, others)
      const parts: CriticParts = {
        ...truthParts(critique, exhibit, weights),
        ranking: rank,
        agreement: agreeing === undefined || critique.correct === exhibit.right ? agreeing : 0,
      }
      return { rollout, critique, fooled, parts, reward: criticReward(parts, fooled, config) }
    })
    return { ...exhibit, judgements }
  })
}

/** What the checked answer pays for, or the planted error; and coherence, which is paid only where that is. */
function truthParts(
  critique: Critique,
  { kind, right, planted }: Omit<Read, 'critiques'>,
  weights: ReturnType<typeof classWeights>,
): CriticParts {
  const coherent = Number(isCoherent(critique))
  if (kind === 'solution') {
    const aligned = critique.correct === right
    const weight = right ? weights.right : weights.wrong
    return { outcome: aligned ? weight : 0, coherence: aligned ? coherent : 0 }
  }
  const found = evidence(critique, planted)
  return { evidence: Number(found), coherence: found ? coherent : 0 }
}

/** r of a solution against the others of its problem; solutions of which no critique can be read are no rivals. */
function rankOf(own: Omit<Read, 'critiques'>, all: readonly Read[]): number | undefined {
  if (own.critique === undefined) return undefined
  const same = all.filter(({ kind, problem }) => kind === 'solution' && problem === own.problem)
  const scored = same.flatMap(({ right, critique }) => (critique === undefined ? [] : { right, critique }))
  return ranking({ right: own.right, critique: own.critique }, scored)
}
