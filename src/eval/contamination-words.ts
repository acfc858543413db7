/**
 * Texts as words that can be compared however they were typeset: lower case without accents, runs of letters, runs of
 * digits, plus and minus signs, Han and kana by the character. All other signs and the layout are gone, so that
 * `\dfrac{1}{2}`, `½` and 1/2 are the same two words. A hyphen at a word of two letters or more is no minus sign.
 */

/** LaTeX commands that stand for words. All other commands set type or draw signs, and say nothing here. */
const spoken = new Set(
  (
    'alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi ' +
    'psi omega sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp min max sup inf lim gcd lcm ' +
    'mod det dim deg ker arg sqrt'
  ).split(' '),
)

const aliases: Record<string, string> = {
  pmod: 'mod',
  bmod: 'mod',
  varepsilon: 'epsilon',
  vartheta: 'theta',
  varphi: 'phi',
}

const greek: Record<string, string> = Object.fromEntries(
  [...'αβγδεζηθικλμνξοπρστυφχψω'].map((letter, i) => [letter, [...spoken][i]!]),
)

const cjk = '[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}]'
const sign = (letter: string) => `\\+|(?<!${letter}{2})-+(?!${letter}{2})`
const asciiWord = new RegExp(`[a-z]+|[0-9]+|${sign('[a-z]')}`, 'g')
const word = new RegExp(`${cjk}|(?:(?!${cjk})\\p{L})+|\\p{N}+|${sign('\\p{L}')}`, 'gu')

export function wordsOf(text: string): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
  const ascii = /^[\x00-\x7f]*$/.test(text)
  const folded = (ascii ? text : fold(text)).toLowerCase()
  const plain = joinThousands(
    folded.includes('\\') || folded.includes('[asy]') ? withoutLatex(folded) : folded,
  )
  return plain.match(ascii ? asciiWord : word) ?? []
}

function fold(text: string): string {
  const bare = text.normalize('NFKD').replace(/\p{M}+/gu, '')
  const signs = bare.replaceAll('\u2212', '-').replaceAll('√', ' sqrt ')
  return signs.replace(/[α-ωΑ-Ω]/g, (letter) => {
    const name = greek[letter.toLowerCase().replace('ς', 'σ')]
    return name === undefined ? letter : ` ${name} `
  })
}

/** Of lower-case text. Drawings in Asymptote go as a whole: their code is alike in problems that are not. */
function withoutLatex(text: string): string {
  return text
    .replace(/\[asy\][\s\S]*?\[\/asy\]/g, ' ')
    .replace(/(\d),?\\[,!](?=\d{3}(?!\d))/g, '$1')
    .replace(/\\(?:begin|end)\s*\{[a-z]+\*?\}(?:\{[^{}]*\}|\[[^\]]*\])?/g, ' ')
    .replace(/\\[dtc]?frac\s*(\d)\s*(\d)/g, ' $1 $2 ')
    .replace(/\\(?:([a-z]+)|[\s\S])/g, (_, name: string | undefined) => {
      const said = name === undefined ? '' : (aliases[name] ?? name)
      return spoken.has(said) ? ` ${said} ` : ' '
    })
}

function joinThousands(text: string): string {
  return text.includes(',') ? text.replace(/(\d)(?:,|\{,\})(?=\d{3}(?!\d))/g, '$1') : text
}
