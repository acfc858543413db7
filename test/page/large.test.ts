/**
 * A run of many rounds in the page: how soon something is to be seen, and whether lists scroll without a halt. The run has
 * 300 rounds and 30,000 rollouts; SPARRING_PAGE_ROUNDS=10000 makes it 10,000 and a million, and SPARRING_PAGE_RUNS names a
 * folder in which it is kept.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BigRun, ROLLOUTS_A_ROUND } from '../support/big-run.js'
import { hasBrowser, openBrowser, openPage, serve } from './browser.js'

const rounds = Number(process.env.SPARRING_PAGE_ROUNDS ?? 300)
const kept = process.env.SPARRING_PAGE_RUNS

/**
 * Milliseconds to the first paint that are allowed, elapsed; or, where the machine has other work, of its processor: browser,
 * renderer and server share them, side by side.
 */
const FIRST_PAINT = { elapsed: 1000, busy: 2000 }
/** Loads of which the quickest counts. */
const LOADS = 3
/** Rows that a list may hold at most, whatever its length. */
const ROWS = 60
/** Milliseconds that a frame may take, likewise. */
const FRAME = { elapsed: 33, busy: 66 }

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

  it.each(views)(
    '%s is painted, data and all, within a second',
    async (view, shown) => {
      const times: Spent[] = []
      for (let load = 0; load < LOADS; load++) {
        const { page, faults } = await openPage(browser)
        const spent = stopwatch()
        await page.goto(`${server.url}#${view}`, { waitUntil: 'commit' })
        await page.locator(shown).first().waitFor()
        times.push(spent())
        expect(faults).toEqual([])
        await page.close()
      }
      const told = times.map(({ elapsed, busy }) => `${Math.round(elapsed)} (${Math.round(busy)})`)
      console.log(`${view}: ${told.join(', ')} ms elapsed (of the processor)`)
      expect(
        times.some((time) => isWithin(time, FIRST_PAINT)),
        told.join(', '),
      ).toBe(true)
    },
    120_000,
  )

  it('scrolls its list of rollouts without a halt, and never holds more than a few rows', async () => {
    const { page } = await openPage(browser)
    await page.goto(`${server.url}#/run/run/rollouts`)
    await page.locator('.virtual .row').first().waitFor()
    const all = (rounds * ROLLOUTS_A_ROUND).toLocaleString('en-US').replaceAll(',', '.')
    const note = page.locator('.rollout-list .note').first()
    await expect.poll(() => note.innerText(), { timeout: 90_000 }).toMatch(new RegExp(`^${all} found$`))
    const frames: Spent[] = []
    for (let turn = 0; turn < LOADS; turn++) {
      const spent = stopwatch()
      const { frames: drawn, most } = await scroll(page)
      const { elapsed, busy } = spent()
      expect(most).toBeLessThan(ROWS)
      frames.push({ elapsed: elapsed / drawn, busy: busy / drawn })
      console.log(`${drawn} frames: ${(elapsed / drawn).toFixed(1)} (${(busy / drawn).toFixed(1)}) ms each`)
    }
    expect(frames.some((frame) => isWithin(frame, FRAME))).toBe(true)
    await page.close()
  }, 600_000)
})

/** Milliseconds. Other work of the machine adds to what elapsed, and little to what the processor did for the page. */
interface Spent {
  elapsed: number
  /** Of the browser's processes and the server. */
  busy: number
}

function isWithin(spent: Spent, most: Spent): boolean {
  return spent.elapsed < most.elapsed || spent.busy < most.busy
}

function stopwatch(): () => Spent {
  const [started, before] = [performance.now(), busyOfChildren()]
  return () => ({ elapsed: performance.now() - started, busy: busyOfChildren() - before })
}

/** Milliseconds that the processor has worked for the processes below this one, the browser's and the server's. */
function busyOfChildren(): number {
  const below = new Set([String(process.pid)])
  let ticks = 0
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  // A process has a larger number than the one that started it, unless numbers began anew.
  for (const pid of pids.sort((a, b) => Number(a) - Number(b))) {
    const fields = statOf(pid)
    if (fields === undefined || !below.has(fields[1]!)) continue
    below.add(pid)
    ticks += fields.slice(11, 15).reduce((sum, each) => sum + Number(each), 0)
  }
  return ticks * 10
}

/** Fields of /proc/PID/stat behind the name: state, parent and so on (proc(5)); undefined where the process is gone. */
function statOf(pid: string): string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
  } catch {
    return undefined
  }
}

/** Scrolls down for a second and a half; frames that were drawn, and the most rows that there were. */
function scroll(page: Page): Promise<{ frames: number; most: number }> {
  return page.evaluate(`new Promise((resolve) => {
    const list = document.querySelector('.virtual')
    list.scrollTop = 0
    let [frames, most] = [0, 0]
    const end = performance.now() + 1500
    const step = () => {
      frames++
      most = Math.max(most, list.querySelectorAll('.row').length)
      list.scrollTop += 60
      if (performance.now() < end) requestAnimationFrame(step)
      else resolve({ frames, most })
    }
    requestAnimationFrame(step)
  })`)
}
