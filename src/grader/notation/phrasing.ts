/** Wordings and old commands that have a plain spelling. Every rule is linear in the text. */

type Rule = [pattern: RegExp, replacement: string | ((...groups: string[]) => string)]

const wrap = String.raw`(?:\\(?:text|mathrm|textrm|mbox)\s*\{\s*)?`

const rules: Rule[] = [
  // Words before a value.
  [
    new RegExp(
      String.raw`^${wrap}(?:about|approximately|approx\.?|exactly|roughly|around|only|just|nearly)\b\s*\}?\s*`,
      'i',
    ),
    '',
  ],
  [new RegExp(String.raw`^${wrap}(?:minus|negative)\s*\}?\s*(?=\d|\\frac)`, 'i'), '-'],
  [/^(?:\\text\s*\{\s*)?(?:the\s+)?(?:final\s+)?answer(?:\s+is)?\s*[:=]?\s*\}?\s*(?=\S)/i, ''],
  // Words behind one: 5 (five), conditions that a definition holds for.
  [/(\d[^()a-z]*)\s\((?:[a-z]{3,}\s?)+\)$/i, '$1'],
  [
    /(=.*?[^,\s])(?:,|\\[,;: ]|\\quad|\s)*(?:\\text\s*\{\s*(?:,\s*)?(?:for|where|with|when)\b|\\forall\b|\(\s*\w\s*\\in\s*\\mathbb).*$/,
    '$1',
  ],
  [/^(\w_\{?\w\}?\s*=.*?),\s*\w\s*(?:\\geq?|>=|≥|\\in)\s*(?:[01]|\\mathbb\{?[NZ]\}?[^,]*)$/, '$1'],
  [/\s*\\text\s*\{\s*\(mod \d+\)\s*\}$/, ''],
  [/(\d+\s*(?:hours?|hrs?|minutes?|mins?))\s+and\s+(?=\d+\s*(?:min|sec))/g, '$1 '],
  [
    /\\frac\s*\{\s*\\(?:text|mathrm)\s*\{(\w+)\}\s*\}\s*\{\s*\\(?:text|mathrm)\s*\{(\w+)\}\s*\}/g,
    '\\text{$1/$2}',
  ],
  // Numbers.
  [/(\d)\{(\\frac\{\d+\}\{\d+\})\}/g, '$1$2'],
  [/(\d)\s*(?:\^\s*\{?\s*)?\\(?:text|mathrm|textrm)\s*\{(?:st|nd|rd|th)\}\s*\}?/g, '$1'],
  [/(\d)(?:st|nd|rd|th)\b/g, '$1'],
  [/(\d)~(?=\d{3}(?!\d))/g, '$1'],
  [/(\d)\s*x\s*(?=10\s*\^)/g, '$1\\times '],
  [/^(\d+)\s+and\s+(\d+\/\d+)$/, '$1 $2'],
  [/^(\d+)\s*\\text\s*\{\s*and\s*\}\s*(?=\\frac)/, '$1'],
  [/^(-?\d+)\s+to\s+(\d+)$/, '$1:$2'],
  [/\{:\}/g, ':'],
  [/\((\d+)\)\s*_/g, '$1_'],
  [
    /(\d)_\s*\{\s*\\text\s*\{(\w+)\}\s*\}/g,
    (all, digit, word) => (bases[word!] ? `${digit}_{${bases[word!]}}` : all!),
  ],
  // Temperatures and degrees in words.
  [
    /(?:\^\s*\{?\s*\\circ\s*\}?|\s*°|\\degree)\s*(?:\\(?:text|mathrm)\s*\{\s*)?([CF])\b\s*\}?/g,
    '\\text{deg$1}',
  ],
  [/\\textdegree(?![a-zA-Z])/g, '°'],
  // TeX and programs.
  [/([)\]}])\s*U\s*(?=[([\\{])/g, '$1\\cup '],
  [
    /\{([^{}]*)\\(over|choose)(?![a-zA-Z])([^{}]*)\}/g,
    (_, top, command, bottom) => `\\${command === 'over' ? 'frac' : 'binom'}{${top}}{${bottom}}`,
  ],
  [/^([^{}\\]*)\\over(?![a-zA-Z])([^{}\\]*)$/, '\\frac{$1}{$2}'],
  [/\\(?:large|Large|LARGE|huge|Huge|small|normalsize|tiny|footnotesize|scriptsize)(?![a-zA-Z])/g, ' '],
  [/\\(?:textcolor|color)\s*\{[a-z]+\}/gi, ''],
  [/\\[lr]Vert(?![a-zA-Z])|\\\|/g, '\\Vert '],
  [/\b(?:np|math|sp|sympy)\.(?=[a-z])/g, ''],
  [/\*I(?![a-zA-Z])/g, '*i'],
  [/^Matrix\((\[.*\])\)$/, '$1'],
  [/\bC\(\s*(\d+)\s*,\s*(\d+)\s*\)/g, '\\binom{$1}{$2}'],
  [/(?:\\mathrm\s*\{C\}|\bC)_\{?(\d+)\}?\^\{?(\d+)\}?/g, '\\binom{$1}{$2}'],
  [/\\left\s*\\\{\s*\\begin\s*\{(?:array|aligned)\}(?:\s*\{[^{}]*\})?/g, '\\begin{cases}'],
  [/\\end\s*\{(?:array|aligned)\}\s*\\right\s*\./g, '\\end{cases}'],
  [
    /\\begin\s*\{(aligned|align\*?|split|gathered)\}([\s\S]*?)\\end/g,
    (_, name, body) => `\\begin{${name}}${body!.replaceAll('&', '')}\\end`,
  ],
  [/^f\s*:\s*(\w)\s*\\mapsto\s*/, 'f($1)='],
  [
    /(?:\\text\s*\{\s*)?\ball\s+real\s+numbers\b\s*\}?|(?:\\text\s*\{\s*)?\ball\s+reals\b\s*\}?/gi,
    '\\mathbb{R}',
  ],
]

const bases: Record<string, number> = {
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
  twelve: 12,
  sixteen: 16,
}

export function plainly(text: string): string {
  let result = text
  for (const [pattern, replacement] of rules) result = result.replace(pattern, replacement as string)
  return result.trim()
}
