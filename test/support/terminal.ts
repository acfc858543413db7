/** A terminal for tests: what a screen shows of what was written to it. */

const pieces = /␛\[(\??[\d;]*)([A-Za-z])|(\r)|(\n)|([^␛\r\n]+)/g

export class Screen {
  /** Everything that scrolled by, and what stands now. */
  lines = ['']
  cursorShown = true
  /** Lines that were longer than the screen is wide. */
  wrapped: string[] = []
  readonly #columns: number
  #row = 0
  #column = 0

  constructor(columns: number) {
    this.#columns = columns
  }

  write(text: string): void {
    for (const [, parameter = '', final, back, feed, letters] of text
      .replaceAll('\x1b', '␛')
      .matchAll(pieces)) {
      if (back) this.#column = 0
      else if (feed) this.#feed()
      else if (letters) this.#put(letters)
      else this.#control(final!, parameter)
    }
  }

  #feed(): void {
    this.#column = 0
    this.lines[++this.#row] ??= ''
  }

  #put(letters: string): void {
    const line = this.lines[this.#row]!.padEnd(this.#column)
    this.lines[this.#row] = line.slice(0, this.#column) + letters + line.slice(this.#column + letters.length)
    this.#column += letters.length
    if (this.#column > this.#columns) this.wrapped.push(this.lines[this.#row]!)
  }

  #control(final: string, parameter: string): void {
    if (final === 'A') this.#row = Math.max(0, this.#row - Number(parameter || 1))
    else if (final === 'K') this.lines[this.#row] = this.lines[this.#row]!.slice(0, this.#column)
    else if (final === 'J')
      this.lines.splice(this.#row, this.lines.length, this.lines[this.#row]!.slice(0, this.#column))
    else if (parameter === '?25') this.cursorShown = final === 'h'
  }
}
