/**
 * What a round asks of an engine at most, from the settings alone: every prompt and completion is taken to be as long as its
 * limit, every sequence to be worth training.
 */
import type { Demand, SampleDemand } from '../games/game.js'
import { type DialectName, type Profile, profiles } from '../tinker/profile.js'
import { playerOf } from './match.js'
import type { LoadedRecipe } from './recipe.js'

export interface Forecast {
  rounds: number
  /** Of a round, by role of the game. */
  roles: Record<string, RoleForecast>
  /** Of all roles and rounds. */
  run: RoleForecast
  /** What a server would be asked for; absent on the local engine. */
  server?: ServerForecast
}

export interface RoleForecast {
  prompts: number
  completions: number
  /** Tokens that are read as prompts, a prompt once for all its completions. */
  promptTokens: number
  sampledTokens: number
  /** Tokens of the sequences that are trained, prompts included. */
  trainedTokens: number
  steps: number
}

export interface ServerForecast {
  /** Kind of server that is reckoned with: the one that engine.dialect names, else the hosted service. */
  dialect: DialectName
  /** Adapters that are trained, by role, and the server's name of what each is on, as far as the run file tells. */
  adapters: { role: string; rank: number; base?: string }[]
  /** Frozen copies of start weights. */
  copies: number
  /** Models that the server holds at once, where copies are models of their own. */
  models: number
  /** Requests of a round, by kind. What is still at work is asked for again and again beside. */
  requests: Record<string, number>
  /** Sentences on what servers may refuse. */
  notes: string[]
}

/** `bases`: the server's names of the roles' base models. Undefined where the game does not say what it asks for. */
export function forecast(
  loaded: LoadedRecipe,
  bases: Record<string, string | undefined> = {},
): Forecast | undefined {
  const { recipe, game } = loaded
  const demands = game.demands?.(recipe.settings)
  if (!demands) return undefined
  const { engine, rounds } = recipe
  const roles = Object.fromEntries(
    Object.entries(demands).map(([name, demand]): [string, RoleForecast] => [name, ofRole(demand, 1)]),
  )
  const run = Object.values(demands)
    .map((demand) => ofRole(demand, rounds))
    .reduce(sumOf)
  const server = engine.kind === 'tinker' && ofServer(loaded, demands, bases, engine.dialect)
  return { rounds, roles, run, ...(server && { server }) }
}

function ofRole({ sampled, trained }: Demand, rounds: number): RoleForecast {
  const sum = (of: (group: SampleDemand) => number) =>
    sampled.reduce((total, group) => total + Math.ceil(rounds / (group.every ?? 1)) * of(group), 0)
  return {
    prompts: sum(({ prompts }) => prompts),
    completions: sum(({ prompts, completions }) => prompts * completions),
    promptTokens: sum(({ prompts, promptTokens }) => prompts * promptTokens),
    sampledTokens: sum(
      ({ prompts, completions, completionTokens }) => prompts * completions * completionTokens,
    ),
    trainedTokens: trained ? rounds * trained.sequences * trained.tokens : 0,
    steps: rounds * (trained?.steps ?? 0),
  }
}

export function sumOf(a: RoleForecast, b: RoleForecast): RoleForecast {
  const keys = Object.keys(a) as (keyof RoleForecast)[]
  return Object.fromEntries(keys.map((key) => [key, a[key] + b[key]])) as unknown as RoleForecast
}

function ofServer(
  loaded: LoadedRecipe,
  demands: Record<string, Demand>,
  bases: Record<string, string | undefined>,
  named: DialectName | undefined,
): ServerForecast {
  const { recipe, game } = loaded
  const dialect = named ?? 'hosted'
  const profile = profiles[dialect]
  const own = game.roles.filter((name) => playerOf(loaded, name) === name)
  const adapters = own.map((role) => {
    const base = bases[role]
    return { role, rank: recipe.roles[role]!.lora!.rank, ...(base !== undefined && { base }) }
  })
  const copies = own.filter((role) => demands[role]?.start).length
  const requests: Record<string, number> = {}
  const add = (kind: string, count: number) => {
    if (count > 0) requests[kind] = (requests[kind] ?? 0) + count
  }
  for (const demand of Object.values(demands)) countRequests(demand, profile, add)
  return {
    dialect,
    adapters,
    copies,
    models: adapters.length + (profile.snapshots === 'live' ? copies : 0),
    requests,
    notes: notesOf(recipe.roles, adapters, named),
  }
}

function countRequests(
  { sampled, trained, start, scored = 0 }: Demand,
  profile: Profile,
  add: (kind: string, count: number) => void,
): void {
  const prompts = sampled.reduce((sum, group) => sum + group.prompts, 0)
  add('asample', prompts)
  add('save_weights_for_sampler', prompts > 0 ? 1 : 0)
  add('forward', scored > 0 ? 1 : 0)
  if (!trained) return
  const { sequences, tokens, steps } = trained
  const scores = start?.scores ?? false
  const each = Math.ceil(sequences / steps)
  const chunks = steps * chunksOf(each, tokens)
  // The gradient of a KL term costs a second pass.
  add('forward_backward', chunks * (scores ? 2 : 1))
  add('optim_step', steps)
  if (!scores) return
  if (profile.snapshots === 'frozen') add('compute_logprobs', sequences)
  else add('forward', chunks)
}

/** Requests that a batch is sent in, as the client cuts it where the server says nothing of its limits. */
function chunksOf(sequences: number, tokens: number): number {
  const bytes = 180 + 24 * tokens
  return Math.ceil(sequences / Math.min(1024, Math.max(1, Math.floor(5_000_000 / bytes))))
}

function notesOf(
  roles: LoadedRecipe['recipe']['roles'],
  adapters: ServerForecast['adapters'],
  dialect: DialectName | undefined,
): string[] {
  const meant = Object.values(profiles).filter(
    (profile) => dialect === undefined || profile.dialect === dialect,
  )
  const named = (some: Profile[]) => some.map((profile) => profile.dialect).join(' and ')
  const rank = Math.max(...adapters.map((adapter) => adapter.rank))
  const small = meant.filter(({ maxRank }) => maxRank < rank)
  const bases = new Set(adapters.map(({ base }) => base ?? ''))
  const single = meant.filter(({ manyBaseModels }) => !manyBaseModels)
  const together = Object.values(roles).every(({ url }) => url === undefined)
  return [
    ...(small.length > 0 ? [`rank ${rank} is more than ${named(small)} servers allow unless told to`] : []),
    ...(single.length > 0 && bases.size > 1 && !bases.has('') && together
      ? [`${named(single)} servers hold one base model each: give each role its own url`]
      : []),
  ]
}
