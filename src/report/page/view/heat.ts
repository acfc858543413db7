/** A completion as the tokens it was sampled in, each by how surprising it was. */
import type { Heat } from '../../api/rollouts.js'

export interface HeatPiece {
  /** Place in the text, UTF-16 units. */
  start: number
  text: string
  /** Sum over the tokens of the piece, nats; null beyond the tokens that are known. */
  logprob: number | null
  tokens: number
  /** 0 (sure) to 5. */
  level: number
}

/** Surprise, -logprob in nats, from which each level above 0 begins. e^-0.1 is 90 %, e^-4 is 2 %. */
export const heatSteps = [0.1, 0.5, 1, 2, 4] as const

export function heatLevel(logprob: number): number {
  return heatSteps.filter((step) => -logprob >= step).length
}

/**
 * Pieces that together are the text. Tokens that were sure and stand side by side are one piece, so that a long text needs
 * few; tokens without characters of their own are counted to the one that follows, or at the end to the last.
 */
export function heatPieces(text: string, heat: Heat | null): HeatPiece[] {
  const pieces: HeatPiece[] = []
  let start = 0
  let waiting = { logprob: 0, tokens: 0 }
  const { lengths, logprobs } = heat ?? { lengths: [], logprobs: [] }
  for (let k = 0; k < lengths.length && start < text.length; k++) {
    const logprob = waiting.logprob + (logprobs[k] ?? 0)
    const tokens = waiting.tokens + 1
    const end = Math.min(text.length, start + (lengths[k] ?? 0))
    if (end === start) {
      waiting = { logprob, tokens }
      continue
    }
    const last = pieces.at(-1)
    const level = heatLevel(logprob)
    if (last?.level === 0 && level === 0) {
      last.text += text.slice(start, end)
      last.logprob = last.logprob! + logprob
      last.tokens += tokens
    } else {
      pieces.push({ start, text: text.slice(start, end), logprob, tokens, level })
    }
    waiting = { logprob: 0, tokens: 0 }
    start = end
  }
  if (start < text.length) {
    pieces.push({ start, text: text.slice(start), logprob: null, tokens: 0, level: 0 })
  }
  return pieces
}

/** The part of some pieces that lies in [start, end) of the text. */
export function piecesWithin(pieces: readonly HeatPiece[], start: number, end: number): HeatPiece[] {
  return pieces.flatMap((piece) => {
    const from = Math.max(start, piece.start)
    const to = Math.min(end, piece.start + piece.text.length)
    if (from >= to) return []
    return { ...piece, start: from, text: piece.text.slice(from - piece.start, to - piece.start) }
  })
}

/** What a piece says of itself. */
export function heatTitle({ logprob, tokens }: HeatPiece): string {
  if (logprob === null) return ''
  if (tokens === 1) return `log-prob ${logprob.toFixed(3)}, probability ${percent(Math.exp(logprob))}`
  return `${tokens} tokens, log-prob ${logprob.toFixed(3)} together`
}

function percent(share: number): string {
  return share < 0.001 ? `${share.toExponential(1)}` : `${(100 * share).toFixed(1)} %`
}
