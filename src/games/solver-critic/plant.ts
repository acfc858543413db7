/** Errors planted by rule: evidence for which no answer key is needed. */
import type { RandomStream } from '../../core/random.js'
import { sidesOf } from './steps.js'

/** Text that arithmetic is made of. */
const ARITHMETIC = /[\d.,+\-−*×÷/^()\s$]/

export interface Equation {
  /** Number of the step it stands in, from 1. */
  step: number
  left: string
  right: string
}

/**
 * The equations between numbers that a checker can decide: at each equals sign, the arithmetic that ends before it and
 * the arithmetic that begins after it.
 */
export function equationsOf(steps: readonly string[]): Equation[] {
  return steps.flatMap((step, k) => {
    const sides = sidesOf(step)
    return sides.slice(1).flatMap((side, i) => {
      const left = cleaned(endOf(sides[i]!))
      const right = cleaned(startOf(side))
      return /\d/.test(left) && /\d/.test(right) ? { step: k + 1, left, right } : []
    })
  })
}

/** The longest arithmetic that the text ends with, and the one that it begins with. */
function endOf(text: string): string {
  let from = text.length
  while (from > 0 && ARITHMETIC.test(text[from - 1]!)) from--
  return text.slice(from)
}

function startOf(text: string): string {
  let to = 0
  while (to < text.length && ARITHMETIC.test(text[to]!)) to++
  return text.slice(0, to)
}

function cleaned(text: string): string {
  return text
    .replace(/[$,]|[.](?=\s|$)/g, '')
    .replaceAll('×', '*')
    .replaceAll('÷', '/')
    .replaceAll('−', '-')
    .trim()
}

/** A number, or an operator between two terms. */
const MUTABLE = /\d+(?:\.\d+)?|(?<=[\d)]\s*)[+\-*×÷/](?=\s*[\d($])/g

/**
 * The solution with one number or operator of an equation changed, or undefined where it has none. Whether that makes a
 * step false is for the checker to say.
 */
export function plantError(solution: string, stream: RandomStream): string | undefined {
  const spots = spotsOf(solution)
  if (spots.length === 0) return undefined
  const { index, text } = stream.pick(spots)
  const changed = /\d/.test(text) ? otherNumber(text, stream) : otherOperator(text, stream)
  return solution.slice(0, index) + changed + solution.slice(index + text.length)
}

/** Numbers and operators of the arithmetic on both sides of every equals sign. */
function spotsOf(solution: string): { index: number; text: string }[] {
  const spots = new Map<number, string>()
  let at = 0
  const lines = solution.split('\n')
  for (const line of lines) {
    const sides = sidesOf(line)
    let from = at
    sides.forEach((side, i) => {
      const runs = [
        ...(i > 0 ? [[0, startOf(side)]] : []),
        ...(i < sides.length - 1 ? [[side.length - endOf(side).length, endOf(side)]] : []),
      ] as [number, string][]
      for (const [offset, run] of runs) {
        for (const { 0: text, index } of run.matchAll(MUTABLE)) spots.set(from + offset + index, text)
      }
      from += side.length + 1
    })
    at += line.length + 1
  }
  return [...spots].map(([index, text]) => ({ index, text }))
}

/** One figure of the number is another; the first stays above 0 where there are more. */
function otherNumber(text: string, stream: RandomStream): string {
  const figures = [...text.matchAll(/\d/g)].map(({ index }) => index)
  const at = stream.pick(figures)
  const least = at === 0 && figures.length > 1 ? 1 : 0
  const others = Array.from({ length: 10 - least }, (_, i) => `${i + least}`).filter(
    (figure) => figure !== text[at],
  )
  return text.slice(0, at) + stream.pick(others) + text.slice(at + 1)
}

function otherOperator(text: string, stream: RandomStream): string {
  return stream.pick(['+', '-', '*'].filter((operator) => operator !== text))
}
