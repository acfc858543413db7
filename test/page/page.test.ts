/** Every view of the page, in Chromium, against runs that the program played. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sparring } from '../support/command.js'
import { hasBrowser, openBrowser, openPage, serve } from './browser.js'
import { done, hostile, makeDamaged, makeHostile, play, playRollback, resume } from './runs.js'

describe.skipIf(!hasBrowser)('the page', () => {
  const place = mkdtempSync(join(tmpdir(), 'sparring-page-'))
  const runs = join(place, 'runs')
  let browser: Browser
  let server: Awaited<ReturnType<typeof serve>>
  let page: Page
  let faults: string[]

  beforeAll(async () => {
    mkdirSync(runs)
    await play(runs, 'pasodoble-tiny', { rounds: 4 })
    await play(runs, 'gar-tiny')
    await play(runs, 'gar-partial-tiny')
    await play(runs, 'grpo-tiny')
    await play(runs, 'solver-critic-tiny', { rounds: 2, as: 'critic' })
    await playRollback(runs, 'rolled')
    await done(['arena', join(runs, 'pasodoble-tiny'), '--questions', '4'])
    makeHostile(runs, 'pasodoble-tiny')
    makeDamaged(runs, 'pasodoble-tiny', 'damaged')
    server = await serve(runs)
    browser = await openBrowser()
  }, 600_000)
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
      expect(await page.locator('.virtual .row').count()).toBe(8)
      expect(await text('.virtual .row:has-text("pasodoble-tiny")')).toMatch(
        /finished[\s\S]*4 of 4[\s\S]*% → /,
      )
      await page.keyboard.press('/')
      await page.keyboard.type('gar-tiny')
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
      await page.keyboard.press('6')
      await page.getByText('"tau_low": 0.2').waitFor()
    })

    it('grows while it is played', async () => {
      await show('/run/grpo-tiny')
      await page.getByText('1 of 1').waitFor()
      await resume(runs, 'grpo-tiny', 2)
      await page.getByText('2 of 2').waitFor()
    })

    it('grows in a comparison, too', async () => {
      await show('/compare?run=grpo-tiny&run=gar-tiny')
      await page.getByText('2 of 2').waitFor()
      const chart = page.locator('figure', { has: page.getByRole('img', { name: /^heldout\/accuracy\./ }) })
      await chart.locator('summary').click()
      await expect.poll(() => chart.locator('tbody tr').count()).toBe(3)
      await resume(runs, 'grpo-tiny', 3)
      await page.getByText('3 of 3').waitFor()
      await expect.poll(() => chart.locator('tbody tr').last().innerText()).toMatch(/^3\s/)
    })

    it('marks alarms, rollbacks and resumes in its charts', async () => {
      await show('/run/rolled')
      const plot = page.getByRole('img', { name: /^solver reward mean\./ })
      await plot.waitFor()
      const journal = readFileSync(join(runs, 'rolled', 'journal.jsonl'), 'utf8')
        .trim()
        .split('\n')
      const records = journal.map((line) => JSON.parse(line))
      const back = records.filter(({ kind }) => kind === 'rollback')
      expect(back.length).toBeGreaterThan(1)
      const { round, to, alarm } = back[0]
      const words = `rollback to round ${to} (${alarm})`
      expect(await plot.getAttribute('aria-label')).toContain(
        `round ${round} alarm ${alarm}; round ${round} ${words}`,
      )
      await plot.locator('.mark').first().waitFor({ state: 'attached' })
      expect(await plot.locator('.mark-rollback b').first().getAttribute('title')).toContain(
        `round ${round}: ${words}`,
      )
      await plot.focus()
      for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowLeft')
      const figure = page.locator('figure', { has: plot })
      expect(await figure.locator('.legend').innerText()).toContain(words)
      await figure.locator('summary').click()
      const rows = figure.locator('tbody tr')
      await expect.poll(() => rows.count()).toBe(6)
      expect(await rows.nth(round).innerText()).toContain(words)
      expect(await rows.nth(3).innerText()).toContain('ended and resumed')
      expect(await rows.nth(4).innerText()).not.toContain('resumed')
      await page.getByText(`Round ${round}: ${alarm} took the run back to round ${to}.`).waitFor()
      await show('/run/rolled/metrics')
      await page.locator('.mark-key').getByText('rollback').waitFor()
      await page.goto(`file://${join(runs, 'rolled', 'report.html')}`)
      await page.locator('.mark-rollback').first().waitFor({ state: 'attached' })
    })

    it('shows who beats whom among its snapshots', async () => {
      const arena = JSON.parse(readFileSync(join(runs, 'pasodoble-tiny', 'arena.json'), 'utf8'))
      expect(arena.rounds).toEqual([0, 2, 4])
      await show('/run/pasodoble-tiny')
      await page.getByRole('link', { name: 'Cross-play' }).click()
      const scores = arena.cells.flat().map(({ score }: { score: number | null }) => score?.toFixed(2) ?? '–')
      const cells = page.locator('table.matrix tbody td')
      await expect.poll(() => cells.allInnerTexts()).toEqual(scores)
      const [first] = arena.cells[0]
      expect(await page.locator('table.matrix tbody td').first().getAttribute('title')).toContain(
        `over ${first.n} tasks`,
      )
      const elo = page.locator('figure', { has: page.getByRole('img', { name: /^Elo over rounds\./ }) })
      await elo.locator('summary').click()
      const ratings = await elo.locator('tbody tr').allInnerTexts()
      expect(ratings.map((row) => row.split(/\s+/)[0])).toEqual(['0', '2', '4'])
      const { elo: best, low, high } = arena.elo.taker[2]
      expect(ratings[2]!.split('\t')[1]).toMatch(
        new RegExp(`^${Math.round(best)} \\[${Math.round(low)}, ${Math.round(high)}\\]$`),
      )
      await show('/run/gar-tiny')
      await page.getByRole('link', { name: 'Settings' }).waitFor()
      expect(await page.getByRole('link', { name: 'Cross-play' }).count()).toBe(0)
      const file = join(place, 'played.html')
      await done(['report', join(runs, 'pasodoble-tiny'), '--out', file])
      await page.goto(`file://${file}`)
      await page.getByRole('link', { name: 'Cross-play' }).click()
      await expect.poll(() => cells.allInnerTexts()).toEqual(scores)
    })

    it('counts the planted errors that a critic finds', async () => {
      await show('/run/critic/game')
      const table = page.locator('table', {
        has: page.getByText('Planted errors, and the same solutions untouched'),
      })
      await table.waitFor()
      const rollouts = ['000001', '000002'].flatMap((round) => {
        const text = readFileSync(join(runs, 'critic', 'rollouts', `round-${round}`, 'critic.jsonl'), 'utf8')
        return text
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line).parts)
      })
      const planted = rollouts.filter(({ kind }) => kind === 'planted')
      const found = planted.filter((each) => each.first_error === each.planted)
      expect(planted.length).toBeGreaterThan(0)
      expect(await table.locator('tr', { hasText: 'found at their step' }).innerText()).toMatch(
        new RegExp(`${((100 * found.length) / planted.length).toFixed(1)} %\\s+of ${planted.length}`),
      )
      await page.getByRole('img', { name: /^recall of planted errors/ }).waitFor()
    })

    it('says what of its files could not be read', async () => {
      await show('/run/damaged')
      await page.getByText('1 line could not be read and is left out: metrics.jsonl (1)').waitFor()
      await show('/run/damaged/rollouts?role=solver')
      await page.getByText('2 lines could not be read and are left out.').waitFor()
      const file = join(place, 'damaged.html')
      await done(['report', join(runs, 'damaged'), '--out', file])
      await page.goto(`file://${file}`)
      expect(await text('.notice')).toContain('3 lines of its files could not be read')
      await page.getByText(/metrics\.jsonl \(1\), rollouts\/round-000001\/solver\.jsonl \(2\)/).waitFor()
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

    it('shows in the solution which step a critique calls the first error', async () => {
      const file = join(runs, 'critic', 'rollouts', 'round-000002', 'critic.jsonl')
      const critiques = readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      const line = critiques.findIndex(({ parts }) => parts.kind === 'planted' && parts.first_error !== null)
      expect(line).toBeGreaterThanOrEqual(0)
      const { planted, first_error: claimed } = critiques[line].parts
      await show(`/run/critic/match?round=2&role=critic&line=${line}`)
      const exhibit = page.locator('.exhibit', { has: page.locator('.card.here') })
      await exhibit.waitFor()
      const step = (n: number) => exhibit.locator(`.solution-steps li[value="${n}"]`)
      expect(await step(planted).innerText()).toContain('error planted here')
      expect(await step(claimed).innerText()).toContain('called the first error')
      expect(await exhibit.locator('.card.here').innerText()).toContain(`first error: step ${claimed}`)
    })

    it('says of partial traces that what lies behind them is uncounted', async () => {
      await show('/run/gar-partial-tiny/match?round=1&role=reasoner&line=0')
      await page.getByText('each is cut behind its third slice').waitFor()
      expect(await page.locator('.chain-list .card').first().locator('.slice').count()).toBeLessThanOrEqual(3)
      expect(await page.locator('.chain-list .grade').allInnerTexts(), 'nobody has seen an answer').toEqual([
        '–',
        '–',
      ])
      await show('/run/gar-tiny/match?round=1&role=reasoner&line=0')
      await page.locator('.chain-list .slice').first().waitFor()
      expect(await page.getByText('Partial traces').count()).toBe(0)
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
      '/run/pasodoble-tiny/arena',
      '/run/critic/match?round=2&role=critic&line=0',
      '/run/rolled/metrics',
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
