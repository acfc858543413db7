/**
 * A run of many rounds in the page: how soon something is to be seen, and whether lists scroll without a halt. The run has
 * 300 rounds and 30,000 rollouts; SPARRING_PAGE_ROUNDS=10000 makes it 10,000 and a million, and SPARRING_PAGE_RUNS names a
 * folder in which it is kept.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BigRun, ROLLOUTS_A_ROUND } from '../support/big-run.js'
import { hasBrowser, openBrowser, openPage, serve } from './browser.js'

const rounds = Number(process.env.SPARRING_PAGE_ROUNDS ?? 300)
const kept = process.env.SPARRING_PAGE_RUNS

/** Milliseconds to the first paint that is allowed. */
const FIRST_PAINT = 1000
/** Loads of which the quickest counts: what other work of the machine costs is not the page's. */
const LOADS = 5
/** Rows that a list may hold at most, whatever its length. */
const ROWS = 60
/** Milliseconds between two frames that the eye takes for a halt. */
const HALT = 100

describe.skipIf(!hasBrowser)('the page of a large run', () => {
  const runs = kept ?? mkdtempSync(join(tmpdir(), 'sparring-large-'))
  let browser: Browser
  let server: Awaited<ReturnType<typeof serve>>

  beforeAll(async () => {
    if (!existsSync(join(runs, 'run'))) BigRun.write(join(runs, 'run'), { rounds })
    server = await serve(runs)
    browser = await openBrowser()
  }, 3_600_000)
  afterAll(async () => {
    await browser?.close()
    await server?.close()
    if (kept === undefined) rmSync(runs, { recursive: true, force: true })
  })

  const views: [view: string, shown: string][] = [
    ['/', '.virtual .row'],
    ['/run/run', '.chart canvas'],
    ['/run/run/metrics', '.chart canvas'],
    ['/run/run/game', '.bar-of'],
    ['/run/run/rollouts', '.virtual .row'],
    [`/run/run/match?round=${rounds}&role=proposer&line=0`, '.step'],
  ]

  it.each(views)('%s is painted, data and all, within a second', async (view, shown) => {
    const times: number[] = []
    for (let load = 0; load < LOADS; load++) {
      const { page, faults } = await openPage(browser)
      const before = performance.now()
      await page.goto(`${server.url}#${view}`, { waitUntil: 'commit' })
      await page.locator(shown).first().waitFor()
      times.push(performance.now() - before)
      expect(faults).toEqual([])
      await page.close()
    }
    console.log(`${view}: ${times.map(Math.round).join(', ')} ms`)
    expect(Math.min(...times)).toBeLessThan(FIRST_PAINT)
  })

  it('scrolls its list of rollouts without a halt, and never holds more than a few rows', async () => {
    const { page } = await openPage(browser)
    await page.goto(`${server.url}#/run/run/rollouts`)
    await page.locator('.virtual .row').first().waitFor()
    await expect
      .poll(() => page.locator('.rollout-list .note').first().innerText(), { timeout: 300_000 })
      .toMatch(
        new RegExp(`^${(rounds * ROLLOUTS_A_ROUND).toLocaleString('en-US').replaceAll(',', '.')} found$`),
      )
    const halts: number[] = []
    for (let turn = 0; turn < 3; turn++) {
      const { gaps, most } = await scroll(page)
      expect(most).toBeLessThan(ROWS)
      const slow = gaps.filter((gap) => gap > HALT).length
      console.log(`${gaps.length} frames, median ${median(gaps).toFixed(1)} ms, ${slow} above ${HALT} ms`)
      halts.push(slow / gaps.length)
    }
    expect(Math.min(...halts)).toBeLessThan(0.05)
    await page.close()
  })
})

/** Scrolls down for a second and a half; milliseconds between frames, and the most rows that there were. */
function scroll(page: Page): Promise<{ gaps: number[]; most: number }> {
  return page.evaluate(`new Promise((resolve) => {
    const list = document.querySelector('.virtual')
    list.scrollTop = 0
    const gaps = []
    let most = 0
    let last = performance.now()
    const end = last + 1500
    const step = () => {
      const now = performance.now()
      gaps.push(now - last)
      last = now
      most = Math.max(most, list.querySelectorAll('.row').length)
      list.scrollTop += 60
      if (now < end) requestAnimationFrame(step)
      else resolve({ gaps: gaps.slice(1), most })
    }
    requestAnimationFrame(step)
  })`)
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
