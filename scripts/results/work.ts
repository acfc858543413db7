/** What rounds cost: token passes, counted from the rollouts that a run wrote. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readModelConfig } from '../../src/engine/hf/config.js'
import { loadTokenizer } from '../../src/engine/hf/tokenizer.js'
import type { RolloutRecord } from '../../src/games/game.js'
import { folderName } from '../../src/runs/checkpoint.js'
import { type LoadedRecipe, resolvePath } from '../../src/runs/recipe.js'

/** Of one round, or of all up to one. */
export interface Work {
  /**
   * Passes of a token through a model, forward = 1, backward = 2: every token sampled, every prompt once for all its
   * completions, and three times every token of a sequence that is trained on, prompt included; four times where a frozen
   * copy scores it for a KL term. Yardsticks, probes and audits are not in it.
   */
  passes: number
  /** Tokens of completions. */
  sampled: number
  /** Tokens of completions that were trained on. */
  trained: number
  /** Of sampling, grading and training. */
  seconds: number
}

export const noWork: Work = { passes: 0, sampled: 0, trained: 0, seconds: 0 }

/** a + share * b. */
export function addWork(a: Work, b: Work, share = 1): Work {
  return {
    passes: a.passes + share * b.passes,
    sampled: a.sampled + share * b.sampled,
    trained: a.trained + share * b.trained,
    seconds: a.seconds + share * b.seconds,
  }
}

/** What a role's tokens are counted by. */
export interface RoleCost {
  tokensOf(prompt: string): number
  /** Its loss has a KL term. */
  kl: boolean
}

export async function roleCosts({ recipe, folder }: LoadedRecipe): Promise<Record<string, RoleCost>> {
  const costs: Record<string, RoleCost> = {}
  for (const [role, { model }] of Object.entries(recipe.roles)) {
    const path = resolvePath(folder, model)
    const tokenizer = await loadTokenizer(path, await readModelConfig(path))
    const tokensOf = (prompt: string) => tokenizer.encode(prompt).length
    costs[role] = { tokensOf, kl: klOf(recipe.settings, role) > 0 }
  }
  return costs
}

/** Games keep the coefficient of the KL term for all roles, or for each. */
function klOf(settings: Record<string, unknown>, role: string): number {
  const own = settings[role] as { kl?: number } | undefined
  return own?.kl ?? (settings.kl as number | undefined) ?? 0
}

/** Work of a round, `seconds` apart. */
export async function roundWork(run: string, round: number, costs: Record<string, RoleCost>): Promise<Work> {
  const folder = join(run, 'rollouts', `round-${folderName(round)}`)
  const files = await readdir(folder).catch((): string[] => [])
  let work = noWork
  for (const [role, cost] of Object.entries(costs)) {
    if (!files.includes(`${role}.jsonl`)) continue
    const lines = (await readFile(join(folder, `${role}.jsonl`), 'utf8')).trim().split('\n')
    work = addWork(
      work,
      workOf(
        lines.map((line) => JSON.parse(line)),
        cost,
      ),
    )
  }
  return work
}

/** Of the rollouts of a role in a round, in the order in which they were written. */
export function workOf(records: readonly RolloutRecord[], { tokensOf, kl }: RoleCost): Work {
  const work = { ...noWork }
  let length = 0
  records.forEach(({ group, prompt, tokens, trained, advantage }, i) => {
    const before = records[i - 1]
    if (before?.prompt !== prompt) length = tokensOf(prompt)
    if (before?.group !== group || before.prompt !== prompt) work.passes += length
    work.passes += tokens
    work.sampled += tokens
    if (trained && (advantage !== 0 || kl)) {
      work.passes += (kl ? 4 : 3) * (length + tokens)
      work.trained += tokens
    }
  })
  return work
}
