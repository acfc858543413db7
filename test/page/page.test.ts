/** Every view of the page, in Chromium, against runs that the program played. */
import { mkdirSync, mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sparring } from '../support/command.js'
import { hasBrowser, openBrowser, openPage, serve } from './browser.js'
import { hostile, makeHostile, play, playCritic } from './runs.js'

describe.skipIf(!hasBrowser)('the page', () => {
  const place = mkdtempSync(join(tmpdir(), 'sparring-page-'))
  const runs = join(place, 'runs')
  let browser: Browser
  let server: Awaited<ReturnType<typeof serve>>
  let page: Page
  let faults: string[]

  beforeAll(async () => {
    mkdirSync(runs)
    await play(runs, 'pasodoble-tiny', 4)
    await play(runs, 'gar-tiny')
    await play(runs, 'grpo-tiny')
    await playCritic(runs)
    makeHostile(runs, 'pasodoble-tiny')
    server = await serve(runs)
    browser = await openBrowser()
  }, 240_000)
  afterAll(async () => {
    await browser?.close()
    await server?.close()
    rmSync(place, { recursive: true, force: true })
  })
  beforeEach(async () => {
    const opened = await openPage(browser)
    page = opened.page
    faults = opened.faults
  })
  afterEach(async () => {
    await page.close()
    expect(faults).toEqual([])
  })

  const show = (hash: string) => page.goto(`${server.url}#${hash}`)
  const text = (selector: string) => page.locator(selector).first().innerText()
  const hash = () => decodeURIComponent(new URL(page.url()).hash)

  describe('runs', () => {
    it('are listed, found and opened by keys', async () => {
      await show('/')
      await page.getByRole('link', { name: 'gar-tiny' }).waitFor()
      expect(await page.locator('.virtual .row').count()).toBe(5)
      expect(await text('.virtual .row:has-text("pasodoble-tiny")')).toMatch(
        /finished[\s\S]*4 of 4[\s\S]*% → /,
      )
      await page.keyboard.press('/')
      await page.keyboard.type('gar')
      await page.keyboard.press('Escape')
      expect(await page.locator('.virtual .row').count()).toBe(1)
      await page.keyboard.press('j')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'gar-tiny' }).waitFor()
      await page.keyboard.press('u')
      await page.getByRole('heading', { name: 'Runs' }).waitFor()
    })

    it('are compared, with the settings that are not the same', async () => {
      await show('/')
      for (const name of ['pasodoble-tiny', 'grpo-tiny']) await page.getByLabel(`Compare ${name}`).check()
      await page.getByRole('button', { name: 'Compare 2 runs' }).click()
      const row = page.locator('tr', { has: page.getByText('roles.solver.optim.learning_rate') })
      await row.waitFor()
      expect(await row.locator('td').allInnerTexts()).toEqual(['0.00002', '0.0001'])
      await page.getByRole('button', { name: /settings that not all of them have/ }).click()
      await page.getByText('settings.tau_low').waitFor()
      await page.locator('.chart canvas').first().waitFor()
      expect(await text('.legend')).toMatch(/pasodoble-tiny [\d.]+.*grpo-tiny [\d.]+/s)
    })
  })

  describe('a run', () => {
    it('leads from a bar to the questions that it counts', async () => {
      await show('/run/pasodoble-tiny')
      const bars = page.locator('.bar-of')
      await bars.first().waitFor()
      const labels = await bars.evaluateAll((all) => all.map((bar) => bar.getAttribute('aria-label') ?? ''))
      const counts = labels.map((label) => Number(/: (\d+)/.exec(label)?.[1]))
      expect(counts.reduce((sum, each) => sum + each, 0)).toBe(4 * 3 * 6)
      const most = counts.indexOf(Math.max(...counts))
      await bars.nth(most).focus()
      await page.keyboard.press('Enter')
      await page.getByText(`${counts[most]} found`).waitFor()
      expect(hash()).toContain('role=proposer')
      expect(hash()).toContain('rate=')
    })

    it('draws its metrics, which are smoothed, zoomed and opened', async () => {
      await show('/run/pasodoble-tiny/metrics')
      await page.getByRole('region', { name: 'Reward' }).locator('canvas').first().waitFor()
      const sections = await page.locator('.charts > h2').allInnerTexts()
      expect(sections).toEqual(
        expect.arrayContaining(['Yardsticks', 'Reward', 'Pass rate', 'Policy', 'Lengths', 'Speed']),
      )

      const plot = page.getByRole('img', { name: /^reward\./ })
      await plot.focus()
      await page.keyboard.press('ArrowLeft')
      await page.keyboard.press('ArrowLeft')
      const legend = page.locator('figure', { has: plot }).locator('.legend')
      expect(await legend.innerText()).toContain('round 3')
      const heldout = page.getByRole('img', { name: /^held-out accuracy/ })
      const other = page.locator('figure', { has: heldout }).locator('.legend')
      expect(await other.innerText(), 'one cursor for all charts').toContain('round 3')

      const box = (await plot.locator('.u-over').boundingBox())!
      await page.mouse.move(box.x + box.width * 0.3, box.y + 50)
      await page.mouse.down()
      await page.mouse.move(box.x + box.width * 0.7, box.y + 50, { steps: 4 })
      await page.mouse.up()
      await page.getByRole('button', { name: /show all/ }).waitFor()
      expect(hash()).toMatch(/from=1&to=3/)
      await page.keyboard.press('0')
      await page.getByRole('button', { name: /show all/ }).waitFor({ state: 'detached' })

      await plot.focus()
      for (let i = 0; i < 4; i++) await page.keyboard.press('ArrowRight')
      await expect.poll(() => legend.innerText()).toContain('round 4')
      await page.keyboard.press('Enter')
      await page.getByText(/^\d+ found/).waitFor()
      expect(hash()).toMatch(/rollouts\?from=4&to=4/)
    })

    it('gives every picture in numbers', async () => {
      await show('/run/pasodoble-tiny/game')
      await page.locator('.chart canvas').first().waitFor()
      const pictures = page.locator('figure')
      const numbers = await page.locator('figure .numbers').count()
      expect(numbers).toBe(await pictures.count())
      await page.locator('.chart .numbers summary').first().click()
      await expect.poll(() => page.locator('.chart .numbers tbody tr').count()).toBeGreaterThanOrEqual(4)
    })

    it('shows verdicts, reliability and ROC of a discriminator', async () => {
      await show('/run/gar-tiny/game')
      await page.getByText('Share of YES by what was judged').waitFor()
      expect(await text('table.verdicts')).toMatch(/references\s+[\d.]+ %/)
      const squares = await page.locator('.square').count()
      expect(squares).toBeGreaterThanOrEqual(2)
      expect(await page.locator('.square .curve').count()).toBe(squares)
    })

    it('shows its settings', async () => {
      await show('/run/pasodoble-tiny')
      await page.getByRole('link', { name: 'Overview' }).waitFor()
      await page.keyboard.press('5')
      await page.getByText('"tau_low": 0.2').waitFor()
    })

    it('grows while it is played', async () => {
      await show('/run/grpo-tiny')
      await page.getByText('1 of 1').waitFor()
      const args = ['train', '--run', join(runs, 'grpo-tiny'), '--resume', '--rounds', '2']
      expect((await sparring(args)).status).toBe(0)
      await page.getByText('2 of 2').waitFor()
    })
  })

  describe('rollouts', () => {
    it('are searched, ordered, and shown side by side', async () => {
      await show('/run/pasodoble-tiny/rollouts?role=proposer')
      await page.getByText('72 found').waitFor()
      await page.keyboard.press('w')
      await page.waitForURL(/order=worst/)
      await page.locator('.virtual .row').first().waitFor()
      const rewards = async () =>
        (await page.locator('.virtual .row .rollouts-grid > :nth-child(6)').allInnerTexts()).map((each) =>
          Number(each.replace('−', '-')),
        )
      const worstFirst = async () => {
        const all = await rewards()
        return all.length > 0 && all[0] === Math.min(...all)
      }
      await expect.poll(worstFirst).toBe(true)
      await page.keyboard.press('b')
      await page.waitForURL(/order=best/)
      await expect.poll(async () => (await rewards())[0]).toBeGreaterThan(0)
      await page.keyboard.press('/')
      await page.keyboard.type('<answer>')
      await page.waitForURL(/text=/)
      await page.getByText(/^\d+ found/).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: 'Two rounds side by side' }).click()
      await expect
        .poll(() => page.locator('.rollout-list .rollout-list, .sides > .rollout-list').count())
        .toBe(2)
      const first = (n: number) =>
        page.locator('.sides > .rollout-list').nth(n).locator('.row .rollouts-grid > :first-child').first()
      await expect.poll(() => first(0).innerText()).toBe('1')
      await expect.poll(() => first(1).innerText()).toBe('4')
    })

    it('are opened by keys', async () => {
      await show('/run/pasodoble-tiny/rollouts?role=solver&from=2&to=2')
      await page.locator('.virtual .row').first().waitFor()
      await page.keyboard.press('j')
      await page.keyboard.press('j')
      await page.keyboard.press('k')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Match' }).waitFor()
      expect(hash()).toContain('round=2&role=solver&line=0')
    })
  })

  describe('a match', () => {
    it('tells a question from its birth to the update', async () => {
      await show('/run/pasodoble-tiny/match?round=2&role=proposer&line=0')
      await page.getByRole('heading', { name: 'Match' }).waitFor()
      const steps = await page.locator('.step h2').allInnerTexts()
      expect(steps).toEqual([
        'Knowledge',
        'Proposal of the proposer',
        'Question',
        'Answers of the solver',
        'Rewards and advantages',
        'Update',
      ])
      expect(await page.locator('.card[aria-label^="Answer"]').count()).toBe(6)
      expect(await text('.checks')).toContain('well-formed')
      expect(await text('.rewards')).toMatch(/difficulty\s+diversity/)
      expect(await text('.step:last-child .card')).toMatch(/version 1 → 2/)
      const heat = page.locator('.text .heat')
      expect(await heat.count()).toBeGreaterThan(0)
      expect(await heat.first().getAttribute('title')).toMatch(/log-prob −?-?[\d.]+, probability/)
      await page.keyboard.press('h')
      await expect.poll(() => heat.count()).toBe(0)
      await page.keyboard.press('n')
      await page.waitForURL(/line=1/)
      await page.keyboard.press('p')
      await page.waitForURL(/line=0/)
    })

    it('shows the judgment of a slice that is pointed at or focused', async () => {
      await show('/run/gar-tiny/match?round=1&role=reasoner&line=0')
      const slices = page.locator('.chain-list .slice')
      await slices.first().waitFor()
      const said = await slices.first().getAttribute('aria-label')
      expect(said).toMatch(/slice 1 of answer #0: (YES|NO|no verdict)/)
      await slices.first().focus()
      expect(await text('.rationale')).toMatch(/Judgment of slice 1 of answer #0[\s\S]*reward/)
      await page.keyboard.press('ArrowRight')
      const second = await text('.rationale h3')
      expect(second).not.toContain('slice 1 of answer #0')
      await page.locator('.chain-side .slice[tabindex]').first().hover()
      await expect.poll(() => text('.rationale h3')).toContain('reference')
    })

    it('shows solutions beside their critiques', async () => {
      await show('/run/critic/rollouts?role=critic')
      await page.locator('.virtual .row a').first().click()
      await page.getByRole('heading', { name: 'Critiques of the critic' }).waitFor()
      expect(await text('.exhibit')).toMatch(/(Solution|Planted error|Untouched twin).*#\d/)
      expect(await page.locator('.solution-steps li').count()).toBeGreaterThan(0)
    })
  })

  describe('hostile texts', () => {
    const match = '/run/hostile%20%3Cb%3E/match?round=1&role=solver&line='

    it('are shown as text', async () => {
      await show(`${match}0`)
      await page.getByRole('heading', { name: 'Match' }).waitFor()
      expect(await page.locator('.card .text').first().innerText()).toContain(hostile.markup)
      expect(await page.locator('#page img, #page script, #page .text b').count()).toBe(0)
      expect(await page.evaluate('window.hit')).toBeUndefined()
      expect(await text('.crumb')).toContain('hostile <b>')
      const controls = await page.locator('.card .text').nth(1).innerText()
      expect(controls).toBe('aNULbESC[31mcRLOdesreverLRI ZWSP')
      expect(await page.locator('.card .text').nth(2).innerText()).toBe(hostile.rightToLeft)
      await show('/run/hostile%20%3Cb%3E/rollouts?role=solver&from=1&to=1&order=old')
      await page.locator('.virtual .row').first().waitFor()
      expect(await text('.virtual .row a')).toContain('<img src=x')
    })

    it('of a megabyte are cut until more is asked for', async () => {
      await show(`${match}3`)
      const long = page.locator('.card .text').nth(3)
      await long.waitFor()
      expect((await long.innerText()).length).toBeLessThan(5000)
      for (let i = 0; i < 4 && (await long.getByRole('button').count()) > 0; i++) {
        const before = (await long.innerText()).length
        await long.getByRole('button', { name: /show more/ }).click()
        await expect.poll(async () => (await long.innerText()).length).toBeGreaterThan(before)
      }
      expect(await long.innerText()).toMatch(/9 end$/)
    })
  })

  describe('everywhere', () => {
    const views = [
      '/',
      '/run/pasodoble-tiny',
      '/run/pasodoble-tiny/metrics',
      '/run/gar-tiny/game',
      '/run/pasodoble-tiny/rollouts',
      '/run/gar-tiny/match?round=1&role=reasoner&line=0',
      '/run/critic',
      '/compare?run=gar-tiny&run=grpo-tiny',
    ]

    it.each(views)('%s fits a narrow window', async (view) => {
      await page.setViewportSize({ width: 380, height: 700 })
      await show(view)
      await page.locator('h1, .tabs, .panel').first().waitFor()
      await page.waitForLoadState('networkidle').catch(() => {})
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(380)
    })

    it('is dark or light, as the system is or as it is told', async () => {
      await page.emulateMedia({ colorScheme: 'dark' })
      await show('/')
      await page.getByRole('heading', { name: 'Runs' }).waitFor()
      const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
      const dark = await ground()
      await page.keyboard.press('t')
      await expect.poll(ground).toBe('rgb(255, 255, 255)')
      await page.getByRole('button', { name: 'auto' }).click()
      await expect.poll(ground).toBe(dark)
    })

    it('tells its keys', async () => {
      await show('/')
      await page.getByRole('heading', { name: 'Runs' }).waitFor()
      await page.keyboard.press('?')
      await page.getByRole('dialog', { name: 'Keys' }).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    })
  })

  describe('a report', () => {
    const open = (file: string, at = '') => page.goto(`file://${file}${at}`)

    it('is left behind by a run and read from disk', async () => {
      const file = join(runs, 'pasodoble-tiny', 'report.html')
      expect(statSync(file).size).toBeLessThan(3_000_000)
      await open(file)
      await page.getByRole('heading', { name: 'pasodoble-tiny' }).waitFor()
      expect(await text('.notice')).toMatch(
        /A report of the run as it was on .* matches of 5 of its 5 rounds/,
      )
      await page.locator('.chart canvas').first().waitFor()
      await page.locator('.bar-of').first().waitFor()
      await page.getByRole('link', { name: 'Rollouts' }).click()
      await page.locator('.virtual .row a').last().click()
      await page.getByRole('heading', { name: 'Match' }).waitFor()
      await page.getByRole('heading', { name: 'Update' }).waitFor()
    })

    it('keeps hostile texts as text, and small', async () => {
      const file = join(place, 'hostile.html')
      const { status, stderr } = await sparring(['report', join(runs, 'hostile <b>'), '--out', file])
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
      expect(statSync(file).size).toBeLessThan(3_000_000)
      await open(file, `#/run/hostile%20%3Cb%3E/match?round=1&role=solver&line=0`)
      await page.getByRole('heading', { name: 'Match' }).waitFor()
      expect(await page.locator('.card .text').first().innerText()).toContain(hostile.markup)
      expect(await page.evaluate('window.hit')).toBeUndefined()
    })

    it('is made of a run whose last lines were cut off', async () => {
      const run = join(runs, 'critic')
      for (const name of ['metrics.jsonl', 'journal.jsonl']) {
        const path = join(run, name)
        truncateSync(path, statSync(path).size - 40)
      }
      const { status, stdout } = await sparring(['report', run, '--json'])
      expect(status).toBe(0)
      const { file, bytes, matches } = JSON.parse(stdout)
      expect(bytes).toBe(statSync(file).size)
      expect(matches).toBeGreaterThan(0)
      await open(file)
      await page.getByText('crashed').first().waitFor()
    })

    it('is not made of what is no run', async () => {
      const { status, stderr } = await sparring(['report', runs])
      expect(status).toBe(2)
      expect(stderr).toMatch(/is not the folder of a run\.\nhint: It holds runs: name one of them, such as /)
    })
  })
})
