/** What is known about the games of the package: who does what in them, and which panels a run fills. */
import type { Band, Panel, Role } from '../api/run.js'

type Part = NonNullable<Role['part']>

const partsOfGames: Record<string, Record<string, Part>> = {
  pasodoble: { proposer: 'author', solver: 'answerer' },
  'r-zero': { challenger: 'author', solver: 'answerer' },
  'solver-critic': { solver: 'answerer', critic: 'judge' },
  gar: { reasoner: 'answerer', discriminator: 'judge' },
  'gar-sft': { discriminator: 'judge' },
  grpo: { solver: 'answerer' },
}

/** The run file as far as it is read here; it may be anything. */
export interface Config {
  game?: unknown
  seed?: unknown
  rounds?: unknown
  roles?: Record<string, { model?: unknown } | undefined>
  settings?: Record<string, unknown>
  alarms?: unknown
  checkpoint?: { every?: unknown; snapshots?: unknown } | undefined
  anchors?: { every?: unknown } | undefined
}

export function rolesOf({ game, roles }: Config): Role[] {
  const parts = partsOfGames[String(game)] ?? {}
  return Object.entries(roles ?? {}).map(([name, role]) => ({
    name,
    model: String(role?.model ?? ''),
    part: parts[name] ?? null,
  }))
}

export function roleOf(config: Config, part: Part): string | undefined {
  return rolesOf(config).find((role) => role.part === part)?.name
}

/** Where pass rates, or shares of the majority, must lie for a question to be learned from. */
export function bandOf({ game, settings = {} }: Config): Band | null {
  const { tau_low, tau_high, share_low, share_high } = settings
  if (game === 'pasodoble' && typeof tau_low === 'number' && typeof tau_high === 'number') {
    return { low: tau_low, high: tau_high, closed: false }
  }
  if (game === 'r-zero' && typeof share_low === 'number' && typeof share_high === 'number') {
    return { low: share_low, high: share_high, closed: true }
  }
  return null
}

/** Answers that the pass rate of a question is counted over, or votes. */
export function answersOf({ game, settings = {} }: Config): number | undefined {
  const count = game === 'r-zero' ? settings.votes : settings.answers
  return typeof count === 'number' && count >= 1 && count <= 1000 ? count : undefined
}

/** Slices that traces of GAR's reasoner are cut to; null where they go to the end. */
export function partialSlices({ game, settings = {} }: Config): number | null {
  const { partial_slices: slices } = settings
  return game === 'gar' && typeof slices === 'number' && slices > 0 ? slices : null
}

const signs: Record<Panel, RegExp> = {
  rewards: /\/reward\/mean$/,
  pass_rate: /^pass_rate\/p0$/,
  questions: /^questions\//,
  diversity: /^diversity\//,
  labels: /^labels\/accuracy/,
  buffer: /^(buffer|pool)\/size$/,
  verdicts: /^verdicts\//,
  critic: /^critic\/planted_recall$/,
  anchors: /_low$/,
  losses: /\/loss$/,
}

/** Panels that a run has numbers for, by the names of its metrics. */
export function panelsOf(metrics: readonly string[]): Panel[] {
  return (Object.keys(signs) as Panel[]).filter((panel) => metrics.some((name) => signs[panel].test(name)))
}
