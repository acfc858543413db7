/** The script as a whole, on real runs of two rounds. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runScript } from '../test/support/command.js'
import { filesOfRun, temporaryFolder } from '../test/support/folders.js'
import { readMetrics, valuesOf } from './lib/runs.js'
import { RunReader } from './results/trajectory.js'

const trial = (out: string) => [
  ...['--out', out, '--seeds', '0', '--only', 'pasodoble,grpo', '--rounds', '2', '--every', '1'],
  ...['--set', 'checkpoint.every=1', '--set', 'anchors.heldout.n=8', '--set', 'engine.threads=1'],
]
const script = (out: string, ...args: string[]) => runScript('scripts/results.js', [...trial(out), ...args])

describe('npm run results', () => {
  it('plays, goes on where it was killed, and writes the page from the runs', {
    timeout: 240_000,
  }, async () => {
    const out = temporaryFolder()
    const begun = await script(out, '--plan')
    expect(begun.stdout).toMatch(/^pasodoble .*seeds 0 to play$/m)
    expect(existsSync(join(out, 'machines.json'))).toBe(false)

    const [first, second] = ['pasodoble', 'grpo'].map((name) => join(out, `${name}-seed0`)) as [
      string,
      string,
    ]
    let looking: NodeJS.Timeout | undefined
    const interrupted = await runScript('scripts/results.js', trial(out), {
      watch: (output, kill) => {
        if (!output.includes('[1/2]')) return
        looking ??= setInterval(() => {
          if (existsSync(join(second, 'checkpoints', '000000', 'state.json'))) kill('SIGKILL')
        }, 10)
      },
    })
    clearInterval(looking)
    expect(interrupted.status).toBeNull()
    const done = filesOfRun(first)

    const { status, stdout, stderr } = await script(out)
    // A busy machine is waited for, and says so.
    expect(stderr).toMatch(/^(waiting for .*\n)*$/)
    expect(status).toBe(0)
    expect(stdout).toMatch(/^pasodoble .*seeds 0 done$/m)
    expect(stdout).toMatch(/^grpo .*seeds 0 (at round \d|to play)$/m)
    expect(filesOfRun(first)).toEqual(done)

    const page = readFileSync(join(out, 'results.md'), 'utf8')
    expect(page).toMatch(/^\| PasoDoble † \| .* \| /m)
    expect(page).toContain('R-Zero: seed 0 not played to its end')
    expect(page).toContain('Before its noisy cold start the model (`models/tiny/base`) had pass@1 9')
    expect(page).not.toMatch(/NaN|Infinity|undefined|null/)

    for (const run of [first, second]) {
      const lines = await readMetrics(run)
      const { readings, work } = (await new RunReader(run).read())!
      expect(readings.map(({ answers }) => answers.sampled.filter(Boolean).length / 8)).toEqual(
        valuesOf(lines, 'heldout/accuracy'),
      )
      // Tokens trained on, counted from rollouts, are those that the optimizer counted.
      const trained = lines.map((line) =>
        ['proposer', 'solver'].reduce(
          (sum, role) => sum + (line[`${role}/optim/steps`] ?? 0) * (line[`${role}/optim/tokens`] ?? 0),
          0,
        ),
      )
      const total = trained.reduce((sum, tokens) => sum + tokens, 0)
      expect(total).toBeGreaterThan(0)
      expect(work.at(-1)!.trained).toBeCloseTo(total)
    }
  })

  it('names what it does not know', async () => {
    const { status, stderr } = await runScript('scripts/results.js', ['--only', 'pasodobel', '--plan'])
    expect(status).toBe(2)
    expect(stderr).toContain('Did you mean pasodoble?')
    expect((await runScript('scripts/results.js', ['--seed', '0'])).status).toBe(2)
    expect((await runScript('scripts/results.js', ['--seeds', '1.5'])).stderr).toContain(
      '--seeds takes whole numbers',
    )
  })

  it('does not mix runs of other settings into a comparison', { timeout: 120_000 }, async () => {
    const out = temporaryFolder()
    const args = ['--only', 'grpo', '--rounds', '1', '--set', 'settings.problems_per_round=1']
    expect((await script(out, ...args)).status).toBe(0)
    const { status, stderr } = await script(out, ...args, '--set', 'settings.answers=4')
    expect(status).toBe(2)
    expect(stderr).toMatch(/grpo-seed0 was played with other settings: settings.answers is 8/)
  })
})
