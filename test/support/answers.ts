/** Answers as they come and as they do not: mutated cases, random LaTeX, random characters. */
import fc from 'fast-check'

const atoms = [
  ...[
    '0',
    '1',
    '2',
    '7',
    '10',
    '0.5',
    '.25',
    '1,000',
    '1/2',
    '3 1/2',
    '-3',
    '2e3',
    '1E-50',
    '12:30',
    '25%',
    '5 cm',
  ],
  ...[
    'x',
    'y',
    'n',
    'e',
    'i',
    'C',
    '\\pi',
    '\\theta',
    '\\infty',
    '\\alpha_1',
    "f'",
    'a_{n+1}',
    'R',
    'yes',
    'Evelyn',
  ],
  ...[
    '\\emptyset',
    '\\mathbb{R}',
    '\\text{ and }',
    '\\text{cm}',
    '45^\\circ',
    '\\$5',
    '½',
    '√2',
    'x²',
    '−5',
    '１２',
  ],
]

/** Expressions in LaTeX and ASCII, well formed more often than not. */
export const latex = fc.letrec<{ answer: string }>((tie) => {
  const inner = tie('answer')
  const two = fc.tuple(inner, inner)
  return {
    answer: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.constantFrom(...atoms),
      two.map(([a, b]) => `\\frac{${a}}{${b}}`),
      two.map(([a, b]) => `${a}^{${b}}`),
      fc
        .tuple(
          inner,
          fc.constantFrom(
            '+',
            '-',
            '*',
            '/',
            ' ',
            ', ',
            '=',
            '<',
            '\\le ',
            '\\cdot ',
            '\\pm ',
            ':',
            '\\cup ',
          ),
          inner,
        )
        .map((parts) => parts.join('')),
      fc
        .tuple(
          fc.constantFrom(
            '\\sqrt',
            '\\sin',
            '\\ln',
            '\\arctan',
            '-',
            '\\sqrt[3]',
            '\\log_2',
            '\\text',
            '\\boxed',
            '\\mathrm',
          ),
          inner,
        )
        .map(([f, a]) => `${f}{${a}}`),
      fc
        .tuple(fc.constantFrom('()', '[]', '(]', '[)', '||', '{}'), inner)
        .map(([[open, close], a]) => `${open}${a}${close}`),
      two.map(([a, b]) => `\\{${a}, ${b}\\}`),
      two.map(([a, b]) => `\\left(${a}, ${b}\\right)`),
      two.map(([a, b]) => `\\begin{pmatrix}${a}\\\\${b}\\end{pmatrix}`),
      two.map(([a, b]) => `\\sum_{k=1}^{${a}} ${b}`),
      inner.map((a) => `${a}!`),
      inner.map((a) => `\\binom{${a}}{2}`),
      inner.map((a) => `$${a}$`),
    ),
  }
}).answer

const noise = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...'0123456789.,-+*/^_(){}[]|\\$%!=<>:; xyeE\n\t\0'),
    fc.constantFrom(
      '\\frac',
      '\\left',
      '\\text{',
      '\\{',
      '\\boxed{',
      '</think>',
      '<answer>',
      '####',
      'answer is ',
    ),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  ),
  maxLength: 60,
})

/** One of the texts with some characters left out, doubled or exchanged. */
function mutated(texts: readonly string[]): fc.Arbitrary<string> {
  const edit = fc.tuple(fc.nat(), fc.nat(3), fc.constantFrom(...'0123456789.,-+^{}()\\x $'))
  return fc
    .tuple(fc.constantFrom(...texts), fc.array(edit, { minLength: 1, maxLength: 3 }))
    .map(([text, edits]) =>
      edits.reduce((each, [place, kind, character]) => {
        const at = place % (each.length + 1)
        const [before, after] = [each.slice(0, at), each.slice(at)]
        if (kind === 0) return before + after.slice(1)
        if (kind === 1) return before + character + after
        return kind === 2 ? before + character + after.slice(1) : before + after.slice(0, 1) + after
      }, text),
    )
}

/** Texts to grade; `seeds` are real answers, none where there are none at hand. */
export function answers(seeds: readonly string[]): fc.Arbitrary<string> {
  const usual = [latex, latex, noise]
  return seeds.length === 0 ? fc.oneof(...usual) : fc.oneof(...usual, mutated(seeds), mutated(seeds))
}
