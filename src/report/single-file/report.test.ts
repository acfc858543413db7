import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { fakeRun } from '../../../test/support/fake-run.js'
import { temporaryFolder } from '../../../test/support/folders.js'
import { pageFolder } from '../page/bundle.js'
import type { Inlined } from '../page/view/inlined.js'
import { MOST_BYTES, writeReport } from './report.js'

/** What a report carries. */
function dataOf(file: string): Inlined {
  const [, data] = /id="run-data">([^<]*)</.exec(readFileSync(file, 'utf8'))!
  return JSON.parse(gunzipSync(Buffer.from(data!, 'base64')).toString())
}

/** Rounds of a run that is there, written once more with texts of this length. */
function swell(run: string, characters: number): void {
  for (const round of ['000001', '000002', '000003']) {
    const folder = join(run, 'rollouts', `round-${round}`)
    mkdirSync(folder, { recursive: true })
    const lines = Array.from({ length: 200 }, (_, index) => {
      const text = Array.from({ length: characters / 8 }, () => Math.random().toString(36).slice(2, 10)).join(
        '',
      )
      const parts = { question: `${index}?` }
      const record = {
        role: 'player',
        group: index,
        index: 0,
        prompt: text,
        text,
        tokens: 9,
        stop: 'eos',
        logprob: -1,
      }
      return JSON.stringify({ ...record, reward: index, parts, advantage: 0, trained: true })
    })
    writeFileSync(join(folder, 'player.jsonl'), lines.join('\n').concat('\n'))
  }
}

async function played(): Promise<string> {
  const run = join(temporaryFolder(), 'run')
  await fakeRun(run, { rounds: 3 })
  return run
}

describe('writeReport', () => {
  it('carries every metric and the run itself, and needs nothing else', async () => {
    const run = await played()
    const { file, bytes } = await writeReport(run)
    expect(file).toBe(join(run, 'report.html'))
    const html = readFileSync(file, 'utf8')
    expect(Buffer.byteLength(html)).toBe(bytes)
    expect(html).not.toMatch(/(src|href)="(?!data:)/)
    const { run: detail, metrics } = dataOf(file)
    expect(detail).toMatchObject({ status: 'finished', round: 3 })
    expect(Object.keys(metrics.columns).sort()).toEqual(detail.metrics.map(({ name }) => name).sort())
    expect(metrics.to).toEqual([0, 1, 2, 3])
  })

  it('stays below its size, whatever the rollouts weigh', async () => {
    const run = await played()
    swell(run, 24_000)
    const { file, bytes, matches } = await writeReport(run)
    expect(bytes).toBeLessThan(MOST_BYTES)
    expect(matches).toBeGreaterThan(10)
    const { rows, note } = dataOf(file)
    expect(rows.length).toBeGreaterThanOrEqual(matches)
    expect(note).toContain(`${matches} matches of`)
  })

  it('replaces the report that was there, and leaves nothing beside it', async () => {
    const run = await played()
    await writeReport(run)
    writeFileSync(join(run, 'report.html'), 'old')
    await writeReport(run)
    expect(readFileSync(join(run, 'report.html'), 'utf8')).toContain('<!doctype html>')
    expect(existsSync(join(run, 'report.html.partial'))).toBe(false)
  })

  it('refuses what is no run, and files that cannot be written', async () => {
    await expect(writeReport(temporaryFolder())).rejects.toThrow('is empty')
    const run = await played()
    await expect(writeReport(run, join(run, 'none', 'report.html'))).rejects.toThrow('cannot be written')
  })
})

describe('pageFolder', () => {
  it('is where the page was bundled', () => {
    for (const name of ['index.html', 'page.js', 'page.css', 'LICENSES.txt']) {
      expect(existsSync(join(pageFolder(), name))).toBe(true)
    }
  })
})
