/** sparring recipes: the run files that come with the package. */
import { readFileSync } from 'node:fs'
import { loadGame } from '../games/index.js'
import { findRecipe, loadRecipe, recipeNames } from '../runs/recipe.js'

export async function recipes({ json }: { json?: boolean }): Promise<void> {
  for (const name of recipeNames()) {
    const { recipe } = await loadRecipe(name, { loadGame })
    const models = [...new Set(Object.values(recipe.roles).map(({ model }) => model))]
    const summary = summaryOf(readFileSync(findRecipe(name), 'utf8'))
    const { game, rounds, engine } = recipe
    const where = engine.kind === 'local' ? 'on this machine' : 'on a server'
    const line = json
      ? JSON.stringify({ event: 'recipe', name, game, engine: engine.kind, models, rounds, summary })
      : `${name} (${game}, ${rounds} rounds, ${where})\n  ${summary}`
    process.stdout.write(`${line}\n`)
  }
}

/** First sentence of the comment that a recipe begins with. */
function summaryOf(text: string): string {
  const comment = /^(?:# .*\n)+/.exec(text)?.[0].replace(/^# /gm, '').replaceAll('\n', ' ') ?? ''
  const sentence = /^.*?\.(?= |$)/.exec(comment)?.[0] ?? comment
  return sentence.trim().replace(/:$/, '.')
}
