/** Runs for the page to show: short ones that the program plays, and one whose texts are hostile. */
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sparring } from '../support/command.js'

const small: Record<string, string[]> = {
  'pasodoble-tiny': [
    'anchors.every=2',
    'anchors.heldout.n=24',
    'settings.texts_per_round=3',
    'checkpoint.snapshots=2',
  ],
  'gar-tiny': ['anchors.heldout.n=8', 'settings.problems_per_round=3', 'settings.answers=3'],
  'gar-partial-tiny': [
    'anchors.heldout.n=8',
    'settings.problems_per_round=2',
    'settings.answers=2',
    'settings.probe_every=0',
  ],
  'grpo-tiny': ['anchors.heldout.n=8', 'settings.problems_per_round=4', 'settings.answers=4'],
  'solver-critic-tiny': [
    'anchors.heldout.n=8',
    'settings.problems_per_round=3',
    'settings.answers=3',
    'settings.evidence_share=0.5',
  ],
}

export interface PlayOptions {
  rounds?: number
  /** Folder within `runs`; the recipe's name where absent. */
  as?: string
  set?: string[]
}

/** Plays a recipe with small settings into `runs/NAME`, one round where no more are asked for. */
export async function play(
  runs: string,
  recipe: keyof typeof small,
  { rounds = 1, as = recipe, set = [] }: PlayOptions = {},
): Promise<void> {
  const sets = [...small[recipe]!, ...set, 'engine.threads=1'].flatMap((each) => ['--set', each])
  await done(['train', recipe, '--run', join(runs, as), '--rounds', String(rounds), ...sets])
}

/** Goes on with a run. */
export function resume(runs: string, name: string, rounds: number): Promise<void> {
  return done(['train', '--run', join(runs, name), '--resume', '--rounds', String(rounds)])
}

/** A run that an alarm takes back whenever it can, and that ended after round 3 and was gone on with. */
export async function playRollback(runs: string, name: string): Promise<void> {
  const set = [
    'anchors.every=2',
    'checkpoint.every=5',
    'alarms.truncation_high={do: rollback, threshold: -1, window: 1}',
    'alarms.rollback.most=1000',
  ]
  await play(runs, 'grpo-tiny', { rounds: 3, as: name, set })
  await resume(runs, name, 5)
}

/** Runs the program, which must end well. */
export async function done(args: string[]): Promise<void> {
  const { status, stderr } = await sparring(args)
  if (status !== 0) throw new Error(stderr)
}

export const hostile = {
  markup: '<img src=x onerror="window.hit=1"><script>window.hit=1</script><b>bold</b>',
  controls: 'a\u0000b\u001b[31mc\u202edesrever\u2066 \u200b',
  rightToLeft: 'שלום עולם 3+4=7',
  long: `long ${'9'.repeat(1_000_000)} end`,
}

/** A copy of a run whose first answers of round 1 are hostile texts. */
export function makeHostile(runs: string, of: string): void {
  const run = join(runs, 'hostile <b>')
  cpSync(join(runs, of), run, { recursive: true })
  const folder = join(run, 'rollouts', 'round-000001')
  const role = readdirSync(folder).find((name) => name.startsWith('solver'))!
  const lines = readFileSync(join(folder, role), 'utf8').split('\n')
  for (const [i, text] of Object.values(hostile).entries()) {
    const record = JSON.parse(lines[i]!)
    const parts = { ...record.parts, question: hostile.markup, extracted: hostile.markup }
    lines[i] = JSON.stringify({ ...record, text, parts, token_lengths: undefined, token_logprobs: undefined })
  }
  writeFileSync(join(folder, role), lines.join('\n'))
}

/** A copy of a run with one line of its metrics and two of its rollouts cut in the middle. */
export function makeDamaged(runs: string, of: string, name: string): void {
  const run = join(runs, name)
  cpSync(join(runs, of), run, { recursive: true })
  cutLines(join(run, 'metrics.jsonl'), [2])
  cutLines(join(run, 'rollouts', 'round-000001', 'solver.jsonl'), [0, 3])
}

function cutLines(file: string, at: readonly number[]): void {
  const lines = readFileSync(file, 'utf8').split('\n')
  for (const i of at) lines[i] = lines[i]!.slice(0, 20)
  writeFileSync(file, lines.join('\n'))
}
