/** What users hand to the code grader, checked before anything is run. */
import { inspect } from 'node:util'
import { z } from 'zod'
import { ConfigError, DataError } from '../../core/errors.js'
import { nearest } from '../../core/nearest.js'
import type { CodeCase, CodeGraderOptions } from './code-grader.js'
import { isolations } from './isolation.js'
import { defaultLimits } from './limits.js'
import { type Language, languages } from './task.js'

/** Timers know no longer time, and as MiB it is still exact in bytes. */
const MOST = 2 ** 31 - 1

const error = (allowed: string) => ({ error: `must be ${allowed}` })
const oneOf = (names: readonly string[]) => `one of ${names.join(', ')}`
const whole = error(`a whole number from 1 to ${MOST}`)
const count = z.int(whole).min(1, whole).max(MOST, whole)
const text = z.string(error('text'))
const name = z.string(error('a name')).min(1, error('a name'))
const listOf = <T extends z.ZodType>(item: T) => z.array(item, error('a list'))
const record = <T extends z.ZodRawShape>(shape: T) => z.object(shape, error('an object'))

const options = z.strictObject(
  {
    concurrency: count.optional(),
    limits: z
      .strictObject(
        Object.fromEntries(Object.keys(defaultLimits).map((limit) => [limit, count.optional()])),
        error('an object'),
      )
      .optional(),
    isolation: z
      .array(z.enum(isolations, error(oneOf(isolations))), error('a list of layers'))
      .min(1, error('a list of at least one layer'))
      .optional(),
    python: name.optional(),
  },
  error('an object'),
)

const language = z.enum(languages, error(oneOf(languages)))

/** A value whose key is missing would otherwise be compared as null. */
const present = z.unknown().refine((value) => value !== undefined, error('given; null where nothing is'))

const program = record({
  kind: z.literal('program'),
  language,
  prompt: text.optional(),
  tests: text,
  entryPoint: name.optional(),
})
const stdin = record({
  kind: z.literal('stdin'),
  language,
  cases: listOf(record({ input: text, output: text })),
})
const call = record({
  kind: z.literal('function'),
  language,
  name,
  cases: listOf(record({ args: listOf(z.unknown()), expected: present })),
})

const task = z.discriminatedUnion('kind', [program, stdin, call], {
  error: ({ code }) =>
    code === 'invalid_union' ? `must be ${oneOf(['program', 'stdin', 'function'])}` : 'must be an object',
})

const cases = listOf(record({ task, response: text }))

/** Throws ConfigError naming the option and what it may be. */
export function checkOptions(given: CodeGraderOptions): void {
  check(options, given, 'options', ConfigError)
}

/** Throws DataError naming the case, the key and what it may be. */
export function checkCases(given: readonly CodeCase[]): void {
  check(cases, given, 'cases', DataError)
}

/** Throws ConfigError naming the languages there are. */
export function checkLanguage(given: Language): void {
  check(language, given, 'language', ConfigError)
}

function check(
  schema: z.ZodType,
  value: unknown,
  root: string,
  Failure: typeof ConfigError | typeof DataError,
): void {
  const issues = schema.safeParse(value).error?.issues ?? []
  // A misspelt key is what the user must mend first.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]
  if (issue === undefined) return
  const { path } = issue
  if (issue.code === 'unrecognized_keys') throw unknownOption(path, issue.keys[0]!)
  const found = path.reduce((at, key) => (at as Record<PropertyKey, unknown>)[key], value)
  throw new Failure(`${placeOf(root, path)} ${issue.message}, not ${shown(found)}.`, {
    hint: 'docs/code-tasks.md describes tasks and options.',
  })
}

function unknownOption(path: readonly PropertyKey[], key: string): ConfigError {
  const known = Object.keys(path.length === 0 ? options.shape : defaultLimits)
  const guess = nearest(key, known)
  return new ConfigError(`${placeOf('options', [...path, key])} is not a known option.`, {
    hint: guess
      ? `Did you mean ${placeOf('options', [...path, guess])}?`
      : `Those known are ${known.join(', ')}.`,
  })
}

/** As JavaScript spells it: `cases[0].task.kind`. */
function placeOf(root: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (place, key) => (typeof key === 'number' ? `${place}[${key}]` : `${place}.${String(key)}`),
    root,
  )
}

function shown(value: unknown): string {
  const text =
    typeof value === 'string' ? JSON.stringify(value) : inspect(value, { depth: 1, breakLength: Infinity })
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}
