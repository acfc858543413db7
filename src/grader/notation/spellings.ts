/** What LaTeX commands and Unicode characters mean. */

/** Names of functions as they are written, and as the tree calls them. */
export const functionNames: Record<string, string> = {
  sqrt: 'sqrt',
  exp: 'exp',
  ln: 'ln',
  log: 'log',
  lg: 'lg',
  abs: 'abs',
  Abs: 'abs',
  floor: 'floor',
  ceil: 'ceil',
  ceiling: 'ceil',
  sign: 'sign',
  sgn: 'sign',
  max: 'max',
  min: 'min',
  gcd: 'gcd',
  lcm: 'lcm',
  factorial: 'factorial',
  binom: 'binom',
  binomial: 'binom',
  choose: 'binom',
  cis: 'cis',
  det: 'det',
  Re: 're',
  Im: 'im',
  cbrt: 'cbrt',
  ...trigonometric(),
}

/** sin ... csch, their inverses as arcsin, asin, arsinh, arcsinh, asinh. */
function trigonometric(): Record<string, string> {
  const names: Record<string, string> = { tg: 'tan', ctg: 'cot', cotg: 'cot', cosec: 'csc', arctg: 'arctan' }
  for (const f of ['sin', 'cos', 'tan', 'cot', 'sec', 'csc']) {
    names[f] = f
    names[`arc${f}`] = `arc${f}`
    names[`a${f}`] = `arc${f}`
    names[`${f}h`] = `${f}h`
    for (const prefix of ['ar', 'arc', 'a']) names[`${prefix}${f}h`] = `ar${f}h`
  }
  return names
}

/** The inverse that a power of -1 on a function means. */
export function inverseOf(name: string): string | undefined {
  if (/^(?:sin|cos|tan|cot|sec|csc)$/.test(name)) return `arc${name}`
  return /^(?:sin|cos|tan|cot|sec|csc)h$/.test(name) ? `ar${name}` : undefined
}

/** Letters that are written as words. */
const letters =
  `alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron rho sigma tau upsilon phi chi psi omega
  Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega`
    .trim()
    .split(/\s+/)

/** As words of plain text. */
export const greek = new Set(letters)

/** As commands: more letters, and signs that serve as letters. */
export const letterCommands = new Set([
  ...letters,
  ...`varepsilon vartheta varpi varrho varsigma varphi varkappa hbar ell aleph nabla partial wp odot oplus star dagger
  perp parallel triangle angle square bigstar clubsuit`.split(/\s+/),
])

/** Commands that stand for an operator, a bracket or a sign; every other one keeps its name. */
export const commandSigns: Record<string, string> = {
  cdot: '*',
  times: '*',
  ast: '*',
  bullet: '*',
  div: '/',
  pm: '±',
  mp: '∓',
  le: '<=',
  leq: '<=',
  leqslant: '<=',
  leqq: '<=',
  ge: '>=',
  geq: '>=',
  geqslant: '>=',
  geqq: '>=',
  lt: '<',
  gt: '>',
  ne: '!=',
  neq: '!=',
  approx: '~',
  simeq: '~',
  sim: '~',
  doteq: '~',
  thickapprox: '~',
  equiv: '=',
  in: '∈',
  notin: '∉',
  cup: '∪',
  bigcup: '∪',
  cap: '∩',
  setminus: '∖',
  backslash: '∖',
  smallsetminus: '∖',
  mid: '|',
  vert: '|',
  lvert: '|',
  rvert: '|',
  Vert: '|',
  colon: ':',
  langle: '⟨',
  rangle: '⟩',
  lfloor: '⌊',
  rfloor: '⌋',
  lceil: '⌈',
  rceil: '⌉',
  lbrace: '\\{',
  rbrace: '\\}',
  lbrack: '[',
  rbrack: ']',
  lparen: '(',
  rparen: ')',
  ldots: '…',
  dots: '…',
  cdots: '…',
  dotsc: '…',
  dotsb: '…',
  prime: "'",
  degree: '°',
  wedge: '∧',
  land: '∧',
  vee: '∨',
  lor: '∨',
  Rightarrow: '→',
  rightarrow: '→',
  implies: '→',
  to: '→',
  emptyset: '∅',
  varnothing: '∅',
  infty: '∞',
  euro: '€',
  pounds: '£',
  sum: '∑',
  prod: '∏',
  int: '∫',
  Reals: 'ℝ',
  R: 'ℝ',
}

/** Commands that only set type, or stand for space. */
export const silentCommands = new Set(
  `left right big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr middle displaystyle textstyle scriptstyle limits nolimits
   quad qquad enspace thinspace nonumber notag hfill noindent rm bf it sf tt cal mathstrut strut allowbreak null
   thickspace medspace negthinspace hphantom`
    .trim()
    .split(/\s+/),
)

/** Commands whose argument is prose. */
export const textCommands = new Set(
  'text textbf textit textrm textsf texttt textnormal mbox hbox emph textsc intertext'.split(' '),
)

/** Commands whose argument is mathematics or a name in another typeface. */
export const fontCommands = new Set(
  `mathrm mathbf mathit mathsf mathtt mathcal mathfrak mathscr boldsymbol bm operatorname pmb mathbin mathrel mathop
   displaylines underline ensuremath boxed fbox framebox tag cancel`
    .trim()
    .split(/\s+/),
)

/** Commands that decorate a name, which then is another name. */
export const accents = new Set(
  'vec hat bar tilde dot ddot overline widehat widetilde overrightarrow overleftarrow overset underset'.split(
    ' ',
  ),
)

/** Characters that are written for what LaTeX has a command or ASCII a sign for. */
export const characters: Record<string, string> = {
  '−': '-',
  '‐': '-',
  '‑': '-',
  '‒': '-',
  '–': '-',
  '—': '-',
  '＝': '=',
  '×': '*',
  '·': '*',
  '⋅': '*',
  '∙': '*',
  '∗': '*',
  '÷': '/',
  '⁄': '/',
  '∕': '/',
  '≤': '<=',
  '⩽': '<=',
  '≥': '>=',
  '⩾': '>=',
  '≠': '!=',
  '≈': '~',
  '≃': '~',
  '∣': '|',
  '≡': '=',
  '∞': '∞',
  π: '\\pi ',
  '√': '\\sqrt ',
  '∛': '\\cbrt ',
  '′': "'",
  '’': "'",
  '″': "''",
  º: '°',
  '˚': '°',
  '‖': '|',
  '〈': '⟨',
  '〉': '⟩',
  '，': ', ',
  '、': ', ',
  '；': '; ',
  '。': '.',
  '％': '%',
  '…': '…',
  '∈': '∈',
}

const greekLetters = 'αβγδεζηθικλμνξοπρστυφχψω'
const greekWords =
  `alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon
  phi chi psi omega`
    .trim()
    .split(/\s+/)
for (const [i, letter] of [...greekLetters].entries()) characters[letter] = `\\${greekWords[i]} `
for (const name of ['Gamma', 'Delta', 'Theta', 'Lambda', 'Xi', 'Sigma', 'Phi', 'Psi', 'Omega']) {
  characters[greekLetters[greekWords.indexOf(name.toLowerCase())]!.toUpperCase()] = `\\${name} `
}

/** Fractions of one character. */
export const vulgarFractions: Record<string, string> = {
  '½': '1/2',
  '⅓': '1/3',
  '⅔': '2/3',
  '¼': '1/4',
  '¾': '3/4',
  '⅕': '1/5',
  '⅖': '2/5',
  '⅗': '3/5',
  '⅘': '4/5',
  '⅙': '1/6',
  '⅚': '5/6',
  '⅐': '1/7',
  '⅛': '1/8',
  '⅜': '3/8',
  '⅝': '5/8',
  '⅞': '7/8',
  '⅑': '1/9',
  '⅒': '1/10',
}
