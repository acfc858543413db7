import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadGame } from '../../src/games/index.js'
import { loadRecipe, recipeNames, resolvePath } from '../../src/runs/recipe.js'
import { temporaryFolder } from '../../test/support/folders.js'
import { checkJob, jobsOf, rowsLeftOut } from './jobs.js'
import { comparisons } from './plan.js'

const rows = comparisons.flatMap((comparison) => comparison.rows)

describe('the plan', () => {
  it('names every row once', () => {
    expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length)
    expect(new Set(rows.map(({ label }) => label)).size).toBe(rows.length)
  })

  it.each(comparisons)('$name: effects, pictures and readings are about its own rows', (comparison) => {
    const own = ['start', ...comparison.rows.map(({ name }) => name)]
    const named = [
      comparison.reference,
      ...comparison.claims.flatMap(({ row, than }) => [row, than]),
      ...comparison.pictures.flatMap((picture) => picture.rows),
      ...comparison.rows.flatMap(({ runs }) => runs ?? []),
    ]
    expect(named.filter((name) => !own.includes(name))).toEqual([])
  })

  it('asks for recipes that are there, and can be played as it asks', async () => {
    expect(rows.filter(({ recipe }) => !recipeNames().includes(recipe))).toEqual([])
    const leftOut = (await rowsLeftOut(comparisons)).map(({ row }) => row)
    const jobs = jobsOf(comparisons, [0], temporaryFolder(), { set: [] })
    for (const job of jobs.filter(({ row }) => !leftOut.includes(row))) await checkJob(job)
  })

  it('compares models of one size', async () => {
    const shapes = new Set<string>()
    const leftOut = (await rowsLeftOut(comparisons)).map(({ row }) => row)
    for (const { recipe: name, set = [] } of rows.filter((row) => !leftOut.includes(row))) {
      const { recipe, folder } = await loadRecipe(name, { set: [...set], loadGame })
      for (const { model, lora } of Object.values(recipe.roles)) {
        expect(lora).toBeUndefined()
        const text = readFileSync(join(resolvePath(folder, model), 'config.json'), 'utf8')
        const { hidden_size, intermediate_size, num_hidden_layers, vocab_size } = JSON.parse(text)
        shapes.add([hidden_size, intermediate_size, num_hidden_layers, vocab_size].join())
      }
    }
    expect(shapes.size).toBe(1)
  })

  it('gives the variants of GAR the weights that they are named for', async () => {
    const settings = async (name: string) => {
      const { recipe, set = [] } = rows.find((row) => row.name === name)!
      return (await loadRecipe(recipe, { set: [...set], loadGame })).recipe.settings
    }
    expect(await settings('gar-grpo')).toMatchObject({ judge: 'none', lambda1: 1, lambda2: 0 })
    expect(await settings('gar-raw-critic')).toMatchObject({ judge: 'solution', train_discriminator: false })
    expect(await settings('gar-fixed')).toMatchObject({ judge: 'slices', train_discriminator: false })
    expect(await settings('gar-alignment')).toMatchObject({ lambda3: 0, lambda4: 0.5 })
    expect(await settings('gar-discrimination')).toMatchObject({ lambda3: 1, lambda4: 0 })
    expect(await settings('gar-full')).toMatchObject({ lambda1: 1, lambda2: 1, lambda3: 1, lambda4: 0.5 })
    expect(await settings('gar-partial')).toMatchObject({ lambda1: 0, lambda2: 1, partial_slices: 3 })
  })
})
