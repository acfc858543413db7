/** Texts by the columns that they take on a terminal. */

/** Han, kana, Hangul, full-width forms and pictures take two columns. */
const wide =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\u3000-\u303f\uff01-\uff60]|\p{Emoji_Presentation}/u
const none = /[\p{Mn}\p{Me}\p{Cf}]/u

export function columnsOf(text: string): number {
  let columns = 0
  for (const letter of text) columns += columnsOfLetter(letter)
  return columns
}

/** As much of a text as fits. */
export function cutTo(columns: number, text: string): string {
  let taken = 0
  let end = 0
  for (const letter of text) {
    taken += columnsOfLetter(letter)
    if (taken > columns) return text.slice(0, end)
    end += letter.length
  }
  return text
}

export function padTo(columns: number, text: string): string {
  return text + ' '.repeat(Math.max(0, columns - columnsOf(text)))
}

function columnsOfLetter(letter: string): number {
  if (letter < '\u007f') return 1
  if (none.test(letter)) return 0
  return wide.test(letter) ? 2 : 1
}

/** A text of a row, and how much it matters: where a row is too long, what matters least is left out. */
export interface Cell {
  text: string
  matters: number
}

/** Rows as lines, cells beneath each other; columns that matter least are left out until the lines fit. Rows have equally many cells. */
export function aligned(rows: readonly (readonly Cell[])[], width: number): string[] {
  const columns = (rows[0] ?? []).map((_, at) => ({
    at,
    width: Math.max(...rows.map((row) => columnsOf(row[at]!.text))),
    matters: Math.max(...rows.map((row) => row[at]!.matters)),
  }))
  let kept = columns.filter((column) => column.width > 0)
  const total = () => kept.reduce((sum, column) => sum + column.width + 2, -2)
  while (kept.length > 1 && total() > width) {
    const least = kept.reduce((a, b) => (b.matters <= a.matters ? b : a))
    kept = kept.filter((column) => column !== least)
  }
  return rows.map((row) => {
    const line = kept.map(({ at, width: own }) => padTo(own, row[at]!.text)).join('  ')
    return cutTo(width, line.trimEnd())
  })
}
