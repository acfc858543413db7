import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { heatLevel, heatPieces, piecesWithin } from './heat.js'

const heats = fc
  .array(fc.tuple(fc.nat(4), fc.double({ min: -9, max: 0, noNaN: true })), { maxLength: 40 })
  .map((tokens) => ({ lengths: tokens.map(([n]) => n), logprobs: tokens.map(([, l]) => l) }))

describe('heatPieces', () => {
  it('cuts a text by its tokens, the sure ones together', () => {
    const heat = { lengths: [1, 1, 1, 1, 0], logprobs: [0, -0.02, -2.5, -0.6, -0.01] }
    expect(heatPieces('1+2=', heat).map(({ text, level, tokens }) => [text, level, tokens])).toEqual([
      ['1+', 0, 2],
      ['2', 4, 1],
      ['=', 2, 1],
    ])
  })

  it('counts tokens that are part of a character to the one that completes it', () => {
    const [piece] = heatPieces('é', { lengths: [0, 1], logprobs: [-1.5, -0.6] })
    expect(piece).toEqual({ start: 0, text: 'é', logprob: -2.1, tokens: 2, level: 4 })
  })

  it('shows what has no tokens without heat', () => {
    expect(heatPieces('text', null)).toEqual([{ start: 0, text: 'text', logprob: null, tokens: 0, level: 0 }])
    expect(heatPieces('', null)).toEqual([])
  })

  it('loses and adds nothing', () => {
    fc.assert(
      fc.property(fc.string(), heats, fc.nat(30), fc.nat(30), (text, heat, a, b) => {
        const pieces = heatPieces(text, heat)
        expect(pieces.map((piece) => piece.text).join('')).toBe(text)
        const within = piecesWithin(pieces, a, b)
        expect(within.map((piece) => piece.text).join('')).toBe(text.slice(a, Math.max(a, b)))
      }),
    )
  })

  it('has hotter colours for less likely tokens', () => {
    expect([0, -0.2, -0.7, -1.5, -3, -8].map(heatLevel)).toEqual([0, 1, 2, 3, 4, 5])
  })
})
