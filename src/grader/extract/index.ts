/** Takes the answer out of free text. */

import { readAnswer } from '../notation/read.js'
import { boxedAnswer, lastBoxed } from './boxed.js'
import { choiceIn, firstChoice } from './choice.js'
import { answerIn, type Found } from './clause.js'

/**
 * Ways to find an answer. `answer_tag`: `<answer>...</answer>`. `boxed`: the box, or list of boxes, that ends the text.
 * `last_box`: the last box alone. `hashes`: after the last ####. `phrase`: after the last "answer is" and the like.
 * `final`: the whole text, its last formula or its last number.
 */
export const methods = ['answer_tag', 'boxed', 'last_box', 'hashes', 'phrase', 'final'] as const
export type Method = (typeof methods)[number]

export const defaultMethods: readonly Method[] = ['answer_tag', 'boxed', 'hashes', 'phrase', 'final']

export interface Extraction {
  text: string
  /** What told it: a method, for `final` and sentences what was taken there, or `choice` for a letter. */
  from: Exclude<Method, 'final'> | Found['from'] | 'choice'
}

export interface ExtractionOptions {
  /** Tried in this order. @default defaultMethods */
  extract?: readonly Method[]
  /** What is asked for: a value, a letter of a multiple choice, or words. @default 'value' */
  asked?: Asked
}

export type Asked = 'value' | 'choice' | 'words'

/**
 * The answer in the text behind the thinking part, or in the whole where there is none behind it. Undefined where no
 * method finds one; an unfinished box takes the answers before it back, so nothing is searched for then.
 */
export function extractAnswer(text: string, options: ExtractionOptions = {}): Extraction | undefined {
  const thought = text.lastIndexOf('</think>')
  const behind = thought < 0 ? undefined : search(text.slice(thought + '</think>'.length), options)
  return behind ?? search(text, options)
}

function search(
  text: string,
  { extract = defaultMethods, asked = 'value' }: ExtractionOptions,
): Extraction | undefined {
  for (const method of extract) {
    const found = finders[method](text, asked)
    if (found !== undefined && found.text.trim() !== '') return { ...found, text: found.text.trim() }
    if (method === 'boxed' && opensBox(text)) return undefined
  }
  return undefined
}

const opensBox = (text: string) => /(?<!\\)\\(?:boxed|f(?:rame)?box)\s*\{/.test(text)
const escaped = (text: string) => (text.includes('\\\\boxed') ? text.replaceAll('\\\\', '\\') : text)

const finders: Record<Method, (text: string, asked: Asked) => Extraction | undefined> = {
  answer_tag(text, asked) {
    const end = text.lastIndexOf('</answer>')
    const start = text.lastIndexOf('<answer>', end < 0 ? undefined : end)
    if (start < 0) return undefined
    const content = text.slice(start + '<answer>'.length, end < start ? undefined : end)
    return wrap(opensBox(content) ? boxedAnswer(content) : stated(content, asked), 'answer_tag')
  },
  boxed(text, asked) {
    // A text that was escaped once too often has two backslashes before every command.
    const content = boxedAnswer(text) ?? (opensBox(text) ? undefined : boxedAnswer(escaped(text)))
    return wrap(content && stated(content, asked), 'boxed')
  },
  last_box: (text) => wrap(lastBoxed(text), 'last_box'),
  hashes(text, asked) {
    const at = text.lastIndexOf('####')
    if (at < 0) return undefined
    const line = /^[#:\s]*([^\n]*)/.exec(text.slice(at))![1]!
    if (asked === 'choice') return wrap(firstChoice(line), 'hashes')
    return wrap(asked === 'words' ? line : answerIn(line)?.text, 'hashes')
  },
  phrase,
  final(text, asked) {
    if (asked === 'choice') return wrap(choiceIn(text), 'choice')
    const found = asked === 'value' ? answerIn(text) : undefined
    // A name or a word that is all that was said is what was answered.
    const bare = text.trim()
    return found ?? (bare.length <= MAX_BARE && !bare.includes('\n') ? wrap(bare, 'whole') : undefined)
  },
}

/** What a box or tag holds may be a sentence that states the answer. */
function stated(content: string, asked: Asked): string {
  const plain = content.replace(/^\s*\\text\s*\{([^{}]*)\}\s*/, '$1 ').trim()
  const isSentence =
    content.length <= MAX_SENTENCE && /[a-z]{2,}\s+[a-z]{2,}|answer/i.test(plain) && !/[\\{}[\]]/.test(plain)
  if (asked !== 'value' || !isSentence || readAnswer(content)?.readings.length !== 0) return content
  return answerIn(plain)?.text ?? content
}

function wrap(text: string | undefined, from: Extraction['from']): Extraction | undefined {
  return text === undefined ? undefined : { text, from }
}

const markers = /\b(?:final\s+answers?|answers?|correct\s+(?:option|choice))\b/gi

/** Longest text that is an answer although nothing marks one, characters. */
const MAX_BARE = 60

/** Sentences after a marker that are looked at, from the last. */
const MAX_MARKERS = 8
const MAX_SENTENCE = 400

function phrase(text: string, asked: Asked): Extraction | undefined {
  const ends: number[] = []
  for (const { 0: marker, index } of text.matchAll(markers)) ends.push(index + marker.length)
  for (const end of ends.slice(-MAX_MARKERS).reverse()) {
    const sentence = sentenceFrom(text, end)
    const found =
      asked === 'choice'
        ? firstChoice(sentence)
        : asked === 'words'
          ? wordsIn(sentence)
          : answerIn(sentence)?.text
    if (found !== undefined) return { text: found, from: asked === 'choice' ? 'choice' : 'phrase' }
  }
  return undefined
}

function wordsIn(sentence: string): string | undefined {
  const words = sentence
    .replace(/^(?:[\s:*=—–-]|\b(?:is|are|was|would be|must be)\b)+/i, '')
    .replace(/[\s*]+$/, '')
  return words === '' || words.length > MAX_BARE ? undefined : words
}

/** Up to the period, blank line or special token that ends it; periods within formulas and numbers do not. */
function sentenceFrom(text: string, start: number): string {
  // "**Answer.** 5" and "Answer: 5" go on behind their marks.
  const rest = text.slice(start, start + MAX_SENTENCE).replace(/^(?:\.?\*\*)?[\s:*]*/, '')
  const end = /(?<!\\)[.!?](?=\s|$|\*\*)(?!\s*\$\s)|\n\s*\n|<\||\n(?=\S)(?<=\S\n)/.exec(rest)
  const formula = /^[\s:*]*(?:\$\$[\s\S]*?\$\$|\\\[[\s\S]*?\\\]|\$[^$]*\$|\\\([\s\S]*?\\\))/.exec(rest)
  if (formula !== null && end !== null && end.index < formula[0].length) return formula[0]
  return end === null ? rest : rest.slice(0, end.index)
}
