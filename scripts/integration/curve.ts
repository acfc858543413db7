/**
 * PasoDoble with adapters on the server at TINKER_BASE_URL and on this machine, from the same seed, round by round:
 *
 *   scripts/integration/skyrl.sh -- node dist/scripts/integration/curve.js [--rounds 8] [--set key=value]... [--out FOLDER]
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { projectRoot } from '../../src/core/paths.js'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '8' },
    set: { type: 'string', multiple: true, default: [] },
    out: { type: 'string' },
  },
})
const out = values.out ?? mkdtempSync(join(tmpdir(), 'sparring-curve-'))

const settings = [
  ...['proposer', 'solver'].flatMap((role) => [
    `roles.${role}.lora={rank: 8}`,
    `roles.${role}.optim.learning_rate=3e-4`,
  ]),
  'settings.texts_per_round=4',
  'anchors.every=2',
  'anchors.heldout.n=256',
  'anchors.heldout.greedy=false',
  ...values.set,
]

function play(kind: 'local' | 'tinker'): Record<string, number | null>[] {
  const run = join(out, kind)
  const set = [`engine={kind: ${kind}}`, ...settings].flatMap((each) => ['--set', each])
  const cli = join(projectRoot(), 'dist', 'src', 'cli', 'main.js')
  const args = ['train', 'pasodoble-tiny', '--rounds', values.rounds, '--run', run, '--no-report', ...set]
  const { status } = spawnSync(process.execPath, [cli, ...args], { stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) throw new Error(`The run in ${run} ended with status ${status}.`)
  const lines = readFileSync(join(run, 'metrics.jsonl'), 'utf8').trim().split('\n')
  return lines.map((line) => JSON.parse(line))
}

const names = {
  'heldout/accuracy': 'held-out',
  'solver/reward/mean': 'solver reward',
  'proposer/reward/mean': 'proposer reward',
  'labels/accuracy': 'labels right',
  'solver/policy/kl_sampler_trainer_v1': 'KL sampler to trainer',
}
const [server, local] = [play('tinker'), play('local')]
const cell = (line: Record<string, number | null> | undefined, name: string) => {
  const value = line?.[name]
  return value == null
    ? ''
    : Math.abs(value) < 1e-3 && value !== 0
      ? value.toExponential(0)
      : value.toFixed(3)
}
console.log(
  `| round | ${Object.values(names)
    .map((name) => `${name}: server | here`)
    .join(' | ')} |`,
)
console.log(`|---|${'---|'.repeat(2 * Object.keys(names).length)}`)
for (const [i, line] of local.entries()) {
  const cells = Object.keys(names).flatMap((name) => [cell(server[i], name), cell(line, name)])
  console.log(`| ${line.step} | ${cells.join(' | ')} |`)
}
