/** The shipped collapse, as a user plays it: learning rates far too high, caught by the alarms and undone. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { MetricsLine } from '../src/runs/directory.js'
import { sparring } from './support/command.js'
import { temporaryFolder } from './support/folders.js'

it('collapse-tiny is caught within ten rounds of its start, and the model is saved', async () => {
  const run = join(temporaryFolder(), 'run')
  const { status, stdout } = await sparring(['train', 'collapse-tiny', '--run', run, '--json'])
  expect(status).toBe(0)
  const lines: MetricsLine[] = readFileSync(join(run, 'metrics.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const accuracy = (line: MetricsLine | undefined) => line?.['heldout/accuracy'] as number
  const measured = lines.filter((line) => typeof accuracy(line) === 'number')

  const caught = lines.find((line) => 'rollback/to' in line)!
  const best = lines[caught['rollback/to']!]!
  // It had gained, and was falling apart: the collapse begins after the best anchor.
  expect(accuracy(best)).toBeGreaterThan(accuracy(lines[0]) + 0.1)
  expect(accuracy(caught)).toBeLessThan(accuracy(best) - 0.1)
  expect(caught.step - best.step).toBeLessThanOrEqual(10)

  const top = Math.max(...measured.map(accuracy))
  const { heldout } = JSON.parse(stdout.trim().split('\n').at(-1)!)
  expect(heldout.after).toBeGreaterThan(top - 0.06)
  expect(heldout.after).toBeGreaterThan(heldout.before + 0.15)
}, 1_800_000)
