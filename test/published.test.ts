/** The published figures of docs/benchmarks.md agree with themselves, and its set sizes with the registry and with them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { projectRoot } from '../src/core/paths.js'
import { benchmarks } from '../src/eval/benchmarks/registry.js'

const rows = readFileSync(join(projectRoot(), 'docs/benchmarks.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )

const sizeOf = (name: string) => benchmarks.find((benchmark) => benchmark.name === name)!.size
const columns = ['aime24', 'aime25', 'amc23', 'gsm8k', 'math500', 'olympiadbench']
const pasodoble = rows.filter(([, method = '']) =>
  ['Base', 'Coldstart', 'Online', 'Offline'].includes(method),
)

/** Right answers out of 6 samples of each of N problems, as a percentage of two decimals. */
function isShare(printed: string, problems: number): boolean {
  const nearest = Math.round((Number(printed) / 100) * 6 * problems)
  return [nearest - 1, nearest, nearest + 1].some(
    (right) => Math.abs((100 * right) / (6 * problems) - Number(printed)) <= 0.005 + 1e-9,
  )
}

describe('docs/benchmarks.md', () => {
  it('names the sets that can be evaluated, with their sizes', () => {
    const shown = rows.flatMap(([names = '', sizes = '', , copy]) =>
      copy !== undefined && /^`\w+`/.test(names) && /^\d/.test(sizes)
        ? [...names.matchAll(/`(\w+)`/g)].map(([, name], i) => [name, Number(sizes.split(', ')[i])])
        : [],
    )
    expect(Object.fromEntries(shown)).toEqual(
      Object.fromEntries(benchmarks.map(({ name, size }) => [name, size])),
    )
  })

  it('shows a table of PasoDoble whose means are those of its columns', () => {
    expect(pasodoble).toHaveLength(24)
    for (const row of pasodoble) {
      const hundredths = row.slice(2, 8).reduce((sum, cell) => sum + Math.round(100 * Number(cell)), 0)
      expect(row[8]).toBe((Math.round(hundredths / 6) / 100).toFixed(2))
    }
  })

  it('has set sizes that the figures of PasoDoble are shares of', () => {
    for (const [i, name] of columns.entries()) {
      expect(pasodoble.filter((row) => isShare(row[2 + i]!, sizeOf(name)))).toHaveLength(24)
    }
    expect(pasodoble.filter((row) => isShare(row[7]!, 674))).toHaveLength(7)
  })

  it('shows gains of GAR that are differences', () => {
    const gains = rows.flatMap((row, i) => (row[0] === 'gain' ? [i] : []))
    expect(gains).toHaveLength(2)
    for (const i of gains) {
      const [before, after] = [rows[i - 2]!, rows[i - 1]!]
      const differences = after.slice(1).map((cell, j) => Number(cell) - Number(before[1 + j]))
      expect(rows[i]!.slice(1)).toEqual(differences.map((gain) => `+${gain.toFixed(1)}`))
    }
  })
})
