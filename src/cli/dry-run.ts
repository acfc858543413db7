/** sparring train --dry-run: what a run would ask for and what it lacks. Plays nothing, and asks no server. */
import { type Forecast, forecast, type RoleForecast, sumOf } from '../runs/forecast.js'
import { gameContext, openMatch } from '../runs/match.js'
import { findNeeds, type Need } from '../runs/needs.js'
import type { Parts } from '../runs/parts.js'
import { type LoadedRecipe, loadRecipe } from '../runs/recipe.js'
import { memoryLines } from './progress/lines.js'

/** Reads everything that is there; where nothing is missing, the game is set up as well, so that data are checked. */
export async function dryRun(loaded: LoadedRecipe, json: boolean, parts: Parts): Promise<void> {
  const { recipe, game } = loaded
  const load = (name: string, seed: number) => loadRecipe(name, { seed, loadGame: parts.loadGame })
  const { needs, bases } = await findNeeds(loaded, load)
  const plan = forecast(loaded, bases)
  const missing = needs.filter(({ kind, found }) => kind !== 'key' && !found)
  const memory = missing.length > 0 ? undefined : await setUp(loaded, parts)
  const lines = json
    ? [
        { event: 'config', run: null, config: recipe },
        { event: 'plan', ...plan, needs },
        ...(memory ? [{ event: 'memory', ...memory }] : []),
      ].map((event) => JSON.stringify(event))
    : [
        JSON.stringify(recipe, null, 2),
        ...(plan ? forecastLines(plan) : [`The game ${game.name} does not say what it asks for.`]),
        ...(recipe.engine.kind === 'tinker'
          ? ['memory plan', "  weights, gradients and optimizers are the server's"]
          : memory
            ? memoryLines(memory)
            : ['memory plan', '  can be made once the models are here']),
        ...needLines(needs),
      ]
  process.stdout.write(`${lines.join('\n')}\n`)
}

async function setUp(loaded: LoadedRecipe, parts: Parts) {
  const match = await openMatch(loaded, parts, { dry: true })
  try {
    await match.game.setup(gameContext(match, 'setup', new AbortController().signal, () => {}))
    return match.memory
  } finally {
    await match.close()
  }
}

const columns = {
  prompts: 'prompts',
  completions: 'completions',
  promptTokens: 'prompt tokens',
  sampledTokens: 'sampled tokens',
  trainedTokens: 'trained tokens',
  steps: 'steps',
} satisfies Record<keyof RoleForecast, string>
const keys = Object.keys(columns) as (keyof RoleForecast)[]

export function forecastLines({ rounds, roles, run, server }: Forecast): string[] {
  const all = Object.values(roles)
  const row = (name: string, role: RoleForecast) => [name, ...keys.map((key) => whole(role[key]))]
  const rows = [
    ['', ...Object.values(columns)],
    ...Object.entries(roles).map(([name, role]) => row(name, role)),
    ...(all.length > 1 ? [row('together', all.reduce(sumOf))] : []),
    row(`in ${whole(rounds)} rounds`, run),
  ]
  return [
    'a round at most, with every prompt and completion as long as its limit',
    ...table(rows),
    ...(server ? serverLines(server) : []),
  ]
}

function serverLines({
  dialect,
  adapters,
  copies,
  models,
  requests,
  notes,
}: NonNullable<Forecast['server']>) {
  const count = Object.values(requests).reduce((sum, each) => sum + each, 0)
  const kinds = Object.entries(requests).map(([kind, each]) => `${whole(each)} ${kind}`)
  const trained = adapters.map(
    ({ role, rank, base }) => `${role} (rank ${rank}${base === undefined ? '' : `, ${base}`})`,
  )
  const copied = `${copies} frozen ${copies > 1 ? 'copies' : 'copy'} of start weights`
  const kept = copies === 0 ? '' : `, and ${copied} (${whole(models)} models at once)`
  return [
    `on a server, reckoned with as ${dialect}`,
    `  adapters  ${trained.join(', ')}${kept}`,
    `  requests  ${whole(count)} a round at most, and polls until each is answered: ${kinds.join(', ')}`,
    ...notes.map((note) => `  note      ${note}`),
  ]
}

function needLines(needs: readonly Need[]): string[] {
  const missing = needs.filter(({ found }) => !found)
  if (missing.length === 0) return ['nothing is missing']
  return [
    'missing, in the order in which it is needed',
    ...missing.flatMap(({ name, keys, recipe, get }) => [
      `  ${name}  (${keys.join(', ')}${recipe === undefined ? '' : ` of ${recipe}`})`,
      `    ${get}`,
    ]),
  ]
}

/** Names to the left, numbers to the right. */
function table(rows: string[][]): string[] {
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)))
  return rows.map((row) =>
    `  ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ')}`.trimEnd(),
  )
}

const whole = (count: number) => count.toLocaleString('en')
