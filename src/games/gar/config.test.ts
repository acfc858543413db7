import { describe, expect, it } from 'vitest'
import { loadRecipe } from '../../runs/recipe.js'
import { loadGame } from '../index.js'
import { config, variants } from './config.js'

const fault = (settings: object) => {
  const result = config.safeParse(settings)
  return result.success ? undefined : result.error.issues[0]!
}

describe('settings', () => {
  it("are the paper's where it tells, else of its base", () => {
    expect(config.parse({})).toMatchObject({
      ...{ lambda1: 1, lambda2: 1, lambda3: 1, lambda4: 0.5, rd_form: 'hard' },
      ...{ problems_per_round: 24, answers: 8, normaliser: 'token_mean', clip_low: 0.2, clip_high: 0.2 },
      slicer: { min_tokens: 64, max_tokens: 320 },
      reasoner: { temperature: 1, kl: 0.04 },
      discriminator: { temperature: 1, kl: 0.04, max_tokens: 128, sees_question: true },
    })
  })

  it.each(Object.entries(variants))('%s is one setting away', (variant, preset) => {
    expect(config.parse({ variant })).toMatchObject({ variant, ...preset })
  })

  it('a key that is given wins over the variant', () => {
    expect(config.parse({ variant: 'partial', partial_slices: 5 }).partial_slices).toBe(5)
    const untruncated = config.parse({ variant: 'untruncated', discriminator: { temperature: 0.5, kl: 0 } })
    expect(untruncated.discriminator).toMatchObject({ max_tokens: 4096, temperature: 0.5 })
  })

  it.each<[object, PropertyKey[]]>([
    [{ partial_slices: 3 }, ['partial_slices']],
    [{ judge: 'none' }, ['judge']],
    [{ discriminator_group: 'slice' }, ['verdicts']],
    [{ reasoner: { temperature: 0.7 } }, ['reasoner', 'kl']],
    [{ old_logprobs: 'sampler', reasoner: { temperature: 0.7, kl: 0 } }, ['old_logprobs']],
    [{ language: 'expression' }, ['language']],
    [{ slicer: { delimiter: '(' } }, ['slicer', 'delimiter']],
    [{ variant: 'fulll' }, ['variant']],
  ])('%j is refused where it is wrong', (settings, path) => {
    expect(fault(settings)?.path).toEqual(path)
  })
})

describe('gar-tiny', () => {
  it.each(['full', 'grpo', 'raw_critic', 'fixed', 'alignment_only', 'discrimination_only'] as const)(
    'is %s by that one setting',
    async (variant) => {
      const { recipe } = await loadRecipe('gar-tiny', { loadGame, set: [`settings.variant=${variant}`] })
      expect(recipe.settings).toMatchObject({ variant, ...variants[variant] })
    },
  )
})
