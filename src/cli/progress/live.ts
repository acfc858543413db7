/**
 * A block at the bottom of the terminal that is drawn over itself as the run goes on; what is worth keeping scrolls above it.
 * Every change is one write between the marks of a synchronised update, and lines are written over rather than erased first,
 * so that the terminal never shows half a block.
 */
import type { RunEvent } from '../../runs/events.js'
import { paint } from '../paint.js'
import { columnsOf } from './columns.js'
import { linesOf, type TextStream } from './lines.js'
import type { Progress } from './progress.js'
import { LiveState } from './state.js'
import { type ViewLine, view } from './view.js'

/** Milliseconds between two drawings where only a phase went on, and between two that only the clock asks for. */
const REDRAW = 100
const TICK = 500

const hideCursor = '\x1b[?25l'
const showCursor = '\x1b[?25h'
const begin = '\x1b[?2026h'
const end = '\x1b[?2026l'
const eraseRest = '\x1b[K'
const eraseBelow = '\x1b[J'

/** A terminal; its size may change. */
export interface Terminal extends TextStream {
  rows?: number
  on?(event: 'resize', listener: () => void): unknown
  off?(event: 'resize', listener: () => void): unknown
}

export class LiveProgress implements Progress {
  readonly #terminal: Terminal
  readonly #clock: () => number
  readonly #state = new LiveState()
  /** The block as it stands, without styles. */
  #drawn: ViewLine[] = []
  #drawnAt = 0
  #timer: NodeJS.Timeout | undefined

  constructor(terminal: Terminal, clock = () => performance.now()) {
    this.#terminal = terminal
    this.#clock = clock
  }

  event(event: RunEvent): void {
    this.#state.take(event, this.#clock())
    const kept = linesOf(event, this.#terminal)
    if (event.event === 'done' || event.event === 'error') this.close()
    else if (kept.length > 0 || event.event !== 'phase' || this.#clock() - this.#drawnAt >= REDRAW)
      this.#draw(kept)
  }

  note(text: string): void {
    if (this.#timer) this.#draw([text])
    else this.#terminal.write(`${text}\n`)
  }

  /** Leaves the block as it last was, without the phase, and the cursor as it was found. */
  close(): void {
    if (this.#timer === undefined) return
    this.#state.rest()
    this.#draw([], this.#lines().slice(0, -1))
    this.#terminal.write(showCursor)
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#drawn = []
    this.#terminal.off?.('resize', this.#redraw)
    process.off('exit', this.#restore).off('SIGTSTP', this.#suspend).off('SIGCONT', this.#goOn)
  }

  #open(): void {
    this.#timer = setInterval(this.#redraw, TICK)
    this.#timer.unref()
    this.#terminal.write(hideCursor)
    this.#terminal.on?.('resize', this.#redraw)
    process.on('exit', this.#restore).on('SIGTSTP', this.#suspend).on('SIGCONT', this.#goOn)
  }

  readonly #redraw = (): void => this.#draw()

  /** However the program ends. */
  readonly #restore = (): void => {
    this.#terminal.write(showCursor)
  }

  readonly #suspend = (): void => {
    this.#restore()
    process.kill(process.pid, 'SIGSTOP')
  }

  /** What the shell wrote meanwhile stays; the block begins anew below it. */
  readonly #goOn = (): void => {
    this.#drawn = []
    this.#terminal.write(hideCursor)
    this.#draw()
  }

  #lines(): ViewLine[] {
    const { columns = 80, rows = 24 } = this.#terminal
    return view(this.#state, { columns, rows }, this.#clock())
  }

  #draw(kept: readonly string[] = [], lines = this.#lines()): void {
    if (this.#timer === undefined) this.#open()
    const before = this.#height()
    const up = before > 0 ? `\x1b[${before}A\r` : ''
    const above = kept.length > 0 ? `${eraseBelow}${kept.map((line) => `${line}\n`).join('')}` : ''
    const block = lines.map((line) => `${this.#painted(line)}${eraseRest}\n`).join('')
    this.#terminal.write(`${begin}${up}${above}${block}${eraseBelow}${end}`)
    this.#drawn = lines
    this.#drawnAt = this.#clock()
  }

  #painted({ text, style }: ViewLine): string {
    return style ? paint(this.#terminal, style, text) : text
  }

  /** Rows that the block takes now: a terminal that has become narrower breaks lines. */
  #height(): number {
    const { columns = 80 } = this.#terminal
    return this.#drawn.reduce((sum, { text }) => sum + Math.max(1, Math.ceil(columnsOf(text) / columns)), 0)
  }
}
