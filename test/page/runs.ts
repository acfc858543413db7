/** Runs for the page to show: short ones that the program plays, and one whose texts are hostile. */
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sparring } from '../support/command.js'

const small: Record<string, string[]> = {
  'pasodoble-tiny': ['anchors.every=2', 'anchors.heldout.n=24', 'settings.texts_per_round=3'],
  'gar-tiny': ['anchors.heldout.n=8', 'settings.problems_per_round=3', 'settings.answers=3'],
  'grpo-tiny': ['anchors.heldout.n=8', 'settings.problems_per_round=4', 'settings.answers=4'],
}

/** Plays a recipe with small settings into `runs/NAME`, one round where no more are asked for. */
export async function play(runs: string, name: keyof typeof small, rounds = 1): Promise<void> {
  const sets = [...small[name]!, 'engine.threads=1'].flatMap((set) => ['--set', set])
  const run = join(runs, name)
  const { status, stderr } = await sparring([
    'train',
    name,
    '--run',
    run,
    '--rounds',
    String(rounds),
    ...sets,
  ])
  if (status !== 0) throw new Error(stderr)
}

/** Solver and critic from the same starter model, which knows nothing of critiques. */
export async function playCritic(runs: string): Promise<void> {
  const file = join(runs, '..', 'critic.yaml')
  const role = '{model: models/tiny, optim: {learning_rate: 1e-4}}'
  writeFileSync(
    file,
    `{game: solver-critic, rounds: 2, engine: {kind: local, threads: 1}, roles: {solver: ${role}, critic: ${role}},
      settings: {problems: arithmetic, problems_per_round: 2, answers: 3, critiques: 1, split: links, warmup: 1,
        evidence_share: 0.5, solver: {system: '', user: '{question}', max_tokens: 64, max_prompt_tokens: 128},
        critic: {system: '', user: "{question}\\n{steps}", max_tokens: 48, max_prompt_tokens: 384}}}`,
  )
  const { status, stderr } = await sparring(['train', file, '--run', join(runs, 'critic')])
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
