/** Texts of models as text: nothing of them is markup, and what would be invisible or reorder its surroundings is shown. */

export interface Stretch {
  text: string
  /** True where the text stands for a character that cannot be seen. */
  mark: boolean
}

/** Names of the first 32 characters, as ASCII gives them. */
const controls =
  'NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US'.split(
    ' ',
  )

/** Names of characters that change how others are laid out, or that have no width. */
const names: Record<number, string> = {
  173: 'SHY',
  847: 'CGJ',
  1564: 'ALM',
  6158: 'MVS',
  8203: 'ZWSP',
  8204: 'ZWNJ',
  8205: 'ZWJ',
  8206: 'LRM',
  8207: 'RLM',
  8232: 'LSEP',
  8233: 'PSEP',
  8234: 'LRE',
  8235: 'RLE',
  8236: 'PDF',
  8237: 'LRO',
  8238: 'RLO',
  8288: 'WJ',
  8294: 'LRI',
  8295: 'RLI',
  8296: 'FSI',
  8297: 'PDI',
  65279: 'BOM',
}

// Controls but tab and newline, format characters, tags, lone halves of a pair.
const unseen = /[\p{Cc}\p{Cf}\u2028\u2029\ufff9-\ufffb]|\u034f|[\u{e0000}-\u{e0fff}]|[\ud800-\udfff]/gu

/** Cuts a text where characters cannot be seen; those are named. */
export function stretches(text: string): Stretch[] {
  const out: Stretch[] = []
  let from = 0
  for (const match of text.matchAll(unseen)) {
    if (match[0] === '\n' || match[0] === '\t') continue
    if (match.index > from) out.push({ text: text.slice(from, match.index), mark: false })
    out.push({ text: nameOf(match[0]), mark: true })
    from = match.index + match[0].length
  }
  if (from < text.length) out.push({ text: text.slice(from), mark: false })
  return out
}

/** The same in one string, for titles and labels. */
export function plain(text: string): string {
  return stretches(text)
    .map(({ text: part }) => part)
    .join('')
}

function nameOf(character: string): string {
  const code = character.codePointAt(0)!
  if (code < 32) return controls[code]!
  if (code === 127) return 'DEL'
  return names[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
}

/** The beginning of a text, of at most so many UTF-16 units, not cut within a character. */
export function beginning(text: string, most: number): string {
  if (text.length <= most) return text
  const last = text.charCodeAt(most - 1)
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? most - 1 : most)
}
