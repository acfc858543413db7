import { describe, expect, it } from 'vitest'
import type { Recipe } from '../../runs/recipe.js'
import { duration, sparkline } from './format.js'
import { LiveProgress } from './live.js'

const pieces = /␛\[(\d+)A|(␛\[J)|(\n)|([^␛\n]+)/g

/** A terminal that knows line feeds, "up n lines" and "erase below". */
function terminal(columns: number) {
  const lines = ['']
  let row = 0
  const write = (text: string) => {
    for (const [, up, erase, feed, letters] of text.replaceAll('\x1b', '␛').matchAll(pieces)) {
      if (up) row -= Number(up)
      if (erase) lines.splice(row, lines.length, '')
      if (feed) lines[++row] ??= ''
      if (letters) lines[row] += letters
    }
  }
  return { write, lines, isTTY: false, columns }
}

const config = { game: 'fake', rounds: 9, seed: 0, engine: { kind: 'local', threads: 2 } } as Recipe

function play(columns: number) {
  const screen = terminal(columns)
  const live = new LiveProgress(screen)
  live.event({ event: 'config', run: 'runs/x', config })
  const reading = {
    n: 10,
    samples: 1,
    temperature: 1,
    accuracy: 0.5,
    low: 0.4,
    high: 0.6,
    truncatedFrac: 0,
    unansweredFrac: 0,
  }
  live.event({ event: 'eval', round: 0, name: 'heldout', sampling: 'sampled', ...reading })
  for (const round of [1, 2, 3]) {
    live.event({ event: 'phase', name: 'solver samples', done: round, total: 4 })
    const metrics = {
      'solver/reward/mean': round / 10,
      'solver/policy/entropy': 0.25,
      'solver/len/truncated_frac': 0.1,
    }
    live.event({ event: 'round', round, rounds: 9, seconds: 1, metrics })
  }
  return { screen, live }
}

describe('the live block', () => {
  it('is drawn over itself', () => {
    const { screen } = play(120)
    expect(screen.lines).toEqual([
      'runs/x: fake, 9 rounds, seed 0, local engine, 2 threads',
      'held-out after round 0: 0.500 [0.400, 0.600] sampled, 10 problems',
      expect.stringMatching(/^fake {2}runs\/x {2}round 3\/9 {2}1\.0 s {2}\d.* left$/),
      expect.stringMatching(/^ {2}solver reward {5}0\.300 {2}▁▅█ +entropy 0\.250 {2}truncated 10 %$/),
      '  held-out 0.500 [0.400, 0.600]  ▄',
      expect.stringMatching(/^ {2}solver samples {2}\d\/4 {2}█/),
      '',
    ])
  })

  it('keeps what is worth keeping above itself, and never wraps', () => {
    const { screen, live } = play(30)
    live.note('Ending after this round.')
    live.event({ event: 'resume', round: 3, note: 'a' })
    live.close()
    expect(screen.lines.slice(0, 5).slice(2)).toEqual([
      'Ending after this round.',
      'note: a',
      'going on after round 3',
    ])
    expect(Math.max(...screen.lines.slice(5).map((line) => line.length))).toBeLessThan(30)
  })
})

describe('figures', () => {
  it('are short', () => {
    expect([0.84, 12.4, 185, 7800].map(duration)).toEqual(['0.8 s', '12 s', '3 min 5 s', '2 h 10 min'])
    expect(sparkline([1, 1, 1])).toBe('▄▄▄')
    expect(sparkline([0, Number.NaN, 7])).toBe('▁█')
    expect(sparkline([])).toBe('')
  })
})
