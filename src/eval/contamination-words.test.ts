import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { wordsOf } from './contamination-words.js'

const same = (...texts: string[]) => {
  for (const text of texts) expect(wordsOf(text)).toEqual(wordsOf(texts[0]!))
}

describe('wordsOf', () => {
  it('takes letters, digits and signs apart', () => {
    expect(wordsOf('Compute $f(x)=2x^{2}-10$, if $x>3$.')).toEqual([
      'compute',
      'f',
      'x',
      '2',
      'x',
      '2',
      '-',
      '10',
      'if',
      'x',
      '3',
    ])
  })

  it('does not care how something was typeset', () => {
    same('$\\frac{1}{2}$', '\\dfrac12', '½', '1/2', '\\left( \\tfrac 1 2 \\right)')
    same('1000', '1,000', '1{,}000', '1\\,000')
    same('$x \\le \\sqrt{3}$', 'x ≤ √3', 'x \\leqslant \\sqrt3')
    same('$x-y$', 'x − y', '$x \\! - y$')
    same('\\sin \\Theta + \\varphi', 'sin θ + φ')
    same('$12 \\pmod{7}$', '12 mod 7')
    same('$5\\text{ cm}^2$', '5 cm²', '5cm^2')
    same('\\begin{align*}x&=1\\\\y&=2\\end{align*}', 'x = 1, y = 2')
    same('Erdős asked', 'ERDOS ASKED', 'Erdo\u030bs asked')
    same('a [asy]size(100); draw((0,0)--(1,1));[/asy] b', 'a b')
    same('Janet’s', "janet's")
  })

  it('tells a minus sign from a hyphen', () => {
    expect(wordsOf('the well-known x-axis: $-3$, $a-b$, 5-2')).toEqual([
      'the',
      'well',
      'known',
      'x',
      'axis',
      '-',
      '3',
      'a',
      '-',
      'b',
      '5',
      '-',
      '2',
    ])
  })

  it('takes what is written without spaces by the character', () => {
    expect(wordsOf('日本語 ひら abc 漢x')).toEqual(['日', '本', '語', 'ひ', 'ら', 'abc', '漢', 'x'])
    expect(wordsOf('сумма чисел')).toEqual(['сумма', 'чисел'])
  })

  it('finds nothing in what says nothing', () => {
    expect(wordsOf('')).toEqual([])
    expect(wordsOf('$$\\quad\\left.\\right|$$ ... ()')).toEqual([])
  })

  it('takes any text, and its own words again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const words = wordsOf(text)
        expect(wordsOf(words.join(' '))).toEqual(words)
      }),
    )
  })
})
