import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Screen } from '../../../test/support/terminal.js'
import type { MetricsLine } from '../../runs/directory.js'
import type { RunEvent } from '../../runs/events.js'
import type { Recipe } from '../../runs/recipe.js'
import { columnsOf } from './columns.js'
import { duration, sparkline } from './format.js'
import { LiveProgress } from './live.js'
import { LiveState } from './state.js'
import { view } from './view.js'

const config = {
  game: 'fake',
  rounds: 9,
  seed: 0,
  engine: { kind: 'local', threads: 2 },
  roles: { proposer: {}, solver: {} },
} as unknown as Recipe

const anchor = (accuracy: number) => ({
  'heldout/accuracy': accuracy,
  'heldout/accuracy_low': accuracy - 0.1,
  'heldout/accuracy_high': accuracy + 0.1,
})

const metrics = (round: number) => ({
  'proposer/loss': 1 / round,
  'solver/reward/mean': round / 10,
  'solver/policy/entropy': 0.25,
  'solver/len/truncated_frac': 0.1,
})

const recorded = (alarms: string[], ...lines: MetricsLine[]): RunEvent => ({
  event: 'recorded',
  lines,
  alarms,
})

const round = (round: number): RunEvent => ({
  event: 'round',
  round,
  rounds: 9,
  seconds: 1,
  metrics: metrics(round),
})

/** Three rounds of a second, and the beginning of the fourth. */
const begun: RunEvent[] = [
  { event: 'config', run: 'runs/x', config },
  recorded([], { step: 0, ...anchor(0.5) }),
  ...[1, 2, 3].flatMap((k): RunEvent[] => [
    round(k),
    recorded(k === 3 ? ['labels_wrong'] : [], { step: k, ...metrics(k), ...(k === 2 && anchor(0.625)) }),
  ]),
  { event: 'phase', name: 'solver samples', role: 'solver', done: 0, total: 4, tokens: 0 },
  { event: 'phase', name: 'solver samples', role: 'solver', done: 1, total: 4, tokens: 1500 },
]

function stateAfter(events: readonly RunEvent[]) {
  const state = new LiveState()
  for (const [i, event] of events.entries()) state.take(event, i * 1000)
  return state
}

const shown = (events: readonly RunEvent[], columns = 140, rows = 24) =>
  view(stateAfter(events), { columns, rows }, events.length * 1000).map(({ text }) => text)

describe('the view of a run', () => {
  it('has a lane for each role, the yardstick, alarms, and what is being done', () => {
    expect(shown(begun)).toEqual([
      'fake  runs/x  round 3/9  1.0 s a round  12 s left',
      '  proposer  loss    0.333  █▃▁                                                 waits for solver',
      '  solver    reward  0.300  ▁▅█  1,500 tokens/s  entropy 0.250  truncated 10 %  samples 1/4',
      '  held-out  0.500 -> 0.625  [0.525, 0.725]  ▁█',
      '  alarms: labels_wrong',
      '  solver samples 1/4  ████░░░░░░░░░░░░  2.0 s',
    ])
  })

  it('says what the program does where it is no role that does it, and what has to be waited for', () => {
    const graded = shown([
      ...begun.slice(0, -2),
      { event: 'phase', name: 'answers are graded', done: 3, total: 12 },
    ])
    expect(graded[2]).toContain('waits: answers are graded')
    expect(graded.at(-1)).toMatch(/^ {2}answers are graded 3\/12 {2}█/)
    const waiting: RunEvent = { event: 'phase', name: '12 s for a place in the queue', waiting: true }
    expect(shown([...begun, waiting]).at(-1)).toBe('  waiting: 12 s for a place in the queue')
    expect(shown([...begun, waiting, begun.at(-1)!]).at(-1)).toMatch(/^ {2}solver samples 1\/4/)
  })

  it('goes on from what a resumed run has written, and forgets the alarms and readings that a rollback undid', () => {
    const lines = [1, 2, 3].map(
      (k): MetricsLine => ({ step: k, ...metrics(k), ...anchor(k === 3 ? 0.2 : 0.6) }),
    )
    const resumed: RunEvent[] = [
      begun[0]!,
      { event: 'resume', round: 3 },
      recorded(['labels_wrong'], ...lines),
    ]
    expect(shown(resumed)).toEqual([
      'fake  runs/x  round 3/9',
      '  proposer  loss    0.333  █▃▁',
      '  solver    reward  0.300  ▁▅█  entropy 0.250  truncated 10 %',
      '  held-out  0.600 -> 0.200  [0.100, 0.300]  ██▁',
      '  alarms: labels_wrong',
      '  between rounds',
    ])
    const undone = [...lines.slice(0, 2), { ...lines[2]!, 'rollback/to': 1 }]
    const back: RunEvent = { event: 'rollback', round: 3, to: 1, scale: 0.5, alarm: 'labels_wrong' }
    const after = shown([...resumed.slice(0, 2), recorded(['labels_wrong'], ...undone), back])
    expect(after).toContain('  held-out  0.600  [0.500, 0.700]  ▄')
    expect(after.join()).not.toContain('alarms')
  })

  it('gives up what matters least on a narrow or short terminal', () => {
    expect(shown(begun, 60)).toEqual([
      'fake  runs/x  round 3/9  1.0 s a round  12 s left',
      '  proposer  0.333  █▃▁                  waits for solver',
      '  solver    0.300  ▁▅█  1,500 tokens/s  samples 1/4',
      '  held-out  0.500 -> 0.625  [0.525, 0.725]  ▁█',
      '  alarms: labels_wrong',
      '  solver samples 1/4  ████░░░░░░░░░░░░  2.0 s',
    ])
    expect(shown(begun, 30)).toEqual([
      'fake  round 3/9  12 s left',
      '  proposer  0.333',
      '  solver    0.300',
      '  held-out  0.500 -> 0.625',
      '  alarms: labels_wrong',
      '  solver samples 1/4  2.0 s',
    ])
    expect(shown(begun, 140, 4)).toEqual([
      expect.stringMatching(/^fake/),
      '  alarms: labels_wrong',
      expect.stringMatching(/^ {2}solver samples 1\/4/),
    ])
  })

  it('fits any size, whatever it is told', () => {
    const names = fc.constantFrom('solver samples', '解く', 'a\u001b[2J\n', '🙂🙂', 'x'.repeat(300))
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 200 }),
        fc.integer({ min: 1, max: 40 }),
        names,
        (columns, rows, name) => {
          const lines = shown([...begun, { event: 'phase', name, role: 'solver' }], columns, rows)
          expect(lines.length).toBeGreaterThan(0)
          expect(lines.length).toBeLessThanOrEqual(Math.max(1, rows - 1))
          for (const line of lines) {
            expect(columnsOf(line)).toBeLessThanOrEqual(Math.max(1, columns - 1))
            expect(line).not.toMatch(/\p{Cc}/u)
          }
        },
      ),
    )
  })
})

function terminal(columns: number, rows = 24) {
  const screen = new Screen(columns)
  const writes: string[] = []
  let resized: (() => void) | undefined
  const stream = {
    isTTY: false,
    columns,
    rows,
    write: (text: string) => {
      writes.push(text)
      screen.write(text)
    },
    on: (_: 'resize', listener: () => void) => {
      resized = listener
    },
    off: () => {},
  }
  return { stream, screen, writes, resize: () => resized?.() }
}

function play(columns: number) {
  const { stream, ...rest } = terminal(columns)
  let time = 0
  const live = new LiveProgress(stream, () => time)
  for (const event of begun) {
    live.event(event)
    time += 1000
  }
  return { live, stream, ...rest }
}

describe('the live block', () => {
  it('is drawn over itself, with what is worth keeping above it', () => {
    const { live, screen } = play(120)
    live.note('Ending after this round.')
    live.event({ event: 'checkpoint', round: 3, path: 'runs/x/checkpoints/000003' })
    const block = [
      expect.stringMatching(/^fake/),
      expect.stringMatching(/^ {2}proposer/),
      expect.stringMatching(/^ {2}solver/),
      expect.stringMatching(/^ {2}held-out/),
      '  alarms: labels_wrong',
    ]
    const kept = [
      'runs/x: fake, 9 rounds, seed 0, local engine, 2 threads',
      'Ending after this round.',
      'checkpoint runs/x/checkpoints/000003',
    ]
    expect(screen.lines).toEqual([...kept, ...block, expect.stringMatching(/^ {2}solver samples/), ''])
    expect(screen.cursorShown).toBe(false)
    live.close()
    expect(screen.lines).toEqual([...kept, ...block, ''])
    expect(screen.cursorShown).toBe(true)
  })

  it('comes in whole drawings, none of which erases the block first', () => {
    const { live, writes } = play(120)
    live.close()
    const drawings = writes.filter((text) => text.includes('fake'))
    expect(drawings.length).toBeGreaterThan(5)
    for (const text of drawings) {
      expect(text.startsWith('\x1b[?2026h')).toBe(true)
      expect(text.indexOf('\x1b[?2026l')).toBe(text.length - 8)
    }
    for (const text of drawings.filter((each) => each.includes('\x1b[6A'))) {
      expect(text.indexOf('\x1b[J')).toBeGreaterThan(text.lastIndexOf('\n'))
    }
  })

  it('is drawn anew where the terminal becomes narrower, over the lines that it broke', () => {
    const { live, stream, writes, resize } = play(120)
    stream.columns = 50
    resize()
    live.close()
    // Of six lines, the lanes of both roles took more than 50 columns.
    expect(writes.at(-3)).toContain('\x1b[8A')
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
