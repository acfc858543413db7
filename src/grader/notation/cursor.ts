import { type Brackets, matchBrackets } from './brackets.js'
import type { Token } from './tokens.js'

/** A place in the tokens of an answer, and what can be asked about them from there. */
export abstract class Cursor {
  protected readonly tokens: Token[]
  protected readonly brackets: Brackets
  /** Next token, and the end of what may be read. */
  protected at = 0
  protected end = 0

  constructor(tokens: Token[]) {
    this.tokens = tokens
    this.brackets = matchBrackets(tokens)
  }

  /** Ranges between the signs that stand in no brackets. */
  protected split(from: number, to: number, isCut: (sign: string) => boolean): [number, number][] {
    const parts: [number, number][] = []
    let start = from
    let bars = 0
    let environments = 0
    for (let at = from; at < to; at++) {
      const token = this.tokens[at]!
      if (token.type === 'command') environments += token.text === 'begin' ? 1 : token.text === 'end' ? -1 : 0
      const sign = this.sign(at)
      if (sign === undefined) continue
      const partner = this.brackets.partner[at]!
      if (partner > at) at = partner
      else if (sign === '|' && !isCut(sign)) bars = 1 - bars
      else if (environments === 0 && isCut(sign) && (bars === 0 || sign !== ',')) {
        parts.push([start, at])
        start = at + 1
      }
    }
    return [...parts, [start, to]]
  }

  protected sign(at: number): string | undefined {
    const token = this.tokens[at]
    return token?.type === 'sign' ? token.text : undefined
  }

  protected peek(): string | undefined {
    return this.at < this.end ? this.sign(this.at) : undefined
  }
}
