/**
 * Turns the first problem that zod found in a run file into one sentence with the file, the key, the value and what is
 * allowed. Unknown keys come first: a misspelt key is also a missing one, and the spelling is what the user must mend.
 */
import type { z } from 'zod'
import { ConfigError } from '../core/errors.js'
import { nearest } from '../core/nearest.js'

type Issue = z.core.$ZodIssue
type Path = readonly PropertyKey[]
type Schema = z.core.$ZodType

export interface Explained {
  /** Shown as the place of the fault, such as the run file's name. */
  file: string
  schema: Schema
  data: unknown
  /** Where `data` lies in the file. */
  prefix?: readonly string[]
}

/** The error for data that `schema` refused with `issues`. */
export function explain(issues: readonly Issue[], at: Explained): ConfigError {
  const flat = issues.flatMap((issue) => unfold(issue, at))
  const issue = flat.find(({ code }) => code === 'unrecognized_keys') ?? flat[0]!
  if (issue.code === 'unrecognized_keys') return unknownKey(issue.path, issue.keys[0]!, at)

  const key = keyName(issue.path, at)
  const value = valueAt(at.data, issue.path)
  const description = schemasAt(at.schema, at.data, issue.path)
    .map(describe)
    .find((text) => text !== undefined)
  const hint = description === undefined ? {} : { hint: `${key}: ${description}` }
  if (issue.code === 'custom') return new ConfigError(`${at.file}: ${key}: ${issue.message}`, hint)
  const allowed = allowedBy(issue, at)
  if (value === undefined)
    return new ConfigError(`${at.file}: ${key} is missing; it must be ${allowed}.`, hint)
  return new ConfigError(
    `${at.file}: ${key} must be ${allowed}, not ${show(value)}${near(issue, value)}.`,
    hint,
  )
}

function unknownKey(path: Path, key: string, at: Explained): ConfigError {
  const known = schemasAt(at.schema, at.data, path).flatMap(keysOf)
  const guess = nearest(key, known)
  const hint = guess
    ? `Did you mean ${keyName([...path, guess], at)}?`
    : known.length > 0
      ? `Keys allowed there: ${[...new Set(known)].join(', ')}.`
      : 'No key is allowed there.'
  return new ConfigError(`${at.file}: ${keyName([...path, key], at)} is not a known key.`, { hint })
}

/** A union's own issue says little: take those of the branch that the data comes nearest to. */
function unfold(issue: Issue, at: Explained): Issue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const value = valueAt(at.data, issue.path)
  const branches = issue.errors.map((errors) =>
    errors.flatMap((inner) => unfold({ ...inner, path: [...issue.path, ...inner.path] } as Issue, at)),
  )
  const rightKind = branches.filter((errors) =>
    errors.every((error) => error.path.length > issue.path.length || isUnknownKey(error)),
  )
  if (typeof value === 'object' && rightKind.length > 0)
    return rightKind.sort((a, b) => a.length - b.length)[0]!
  return [issue]
}

const isUnknownKey = (issue: Issue) => issue.code === 'unrecognized_keys'

const kinds: Record<string, string> = {
  int: 'a whole number',
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  object: 'a table of keys',
  record: 'a table of keys',
  array: 'a list',
  null: 'null',
}

function allowedBy(issue: Issue, at: Explained): string {
  const number = isWhole(issue.path, at) ? kinds.int : kinds.number
  switch (issue.code) {
    case 'invalid_type':
      return issue.expected === 'number' ? number! : (kinds[issue.expected] ?? issue.expected)
    case 'too_small':
      return bound(
        issue.origin,
        `${number} ${issue.inclusive ? '>=' : '>'}`,
        Number(issue.minimum),
        'at least',
      )
    case 'too_big':
      return bound(
        issue.origin,
        `${number} ${issue.inclusive ? '<=' : '<'}`,
        Number(issue.maximum),
        'at most',
      )
    case 'not_multiple_of':
      return `a multiple of ${issue.divisor}`
    case 'invalid_value':
      return issue.values.length === 1 ? show(issue.values[0]) : `one of ${issue.values.map(show).join(', ')}`
    case 'invalid_union':
      return allowedInUnion(issue, at)
    case 'invalid_format':
      return 'includes' in issue ? `text with ${show(issue.includes)} in it` : 'valid'
    default:
      return `valid (${issue.message})`
  }
}

function allowedInUnion(issue: z.core.$ZodIssueInvalidUnion, at: Explained): string {
  const key = issue.path.at(-1)
  const names = schemasAt(at.schema, at.data, issue.path.slice(0, -1)).flatMap((option) => [
    ...(key === undefined ? [] : (option._zod.propValues?.[String(key)] ?? [])),
  ])
  // No branch was tried: the key that chooses between them is what is wrong.
  if (issue.errors.length === 0) return `one of ${[...new Set(names)].map(show).join(', ')}`
  const branches = issue.errors.map(([first]) =>
    first ? allowedBy({ ...first, path: issue.path }, at) : 'valid',
  )
  return [...new Set(branches)].join(' or ')
}

function isWhole(path: Path, at: Explained): boolean {
  return schemasAt(at.schema, at.data, path).some((schema) => definition(schema).format === 'safeint')
}

function bound(origin: string, number: string, limit: number, words: string): string {
  if (origin === 'string') return `text of ${words} ${limit} characters`
  if (origin === 'array' || origin === 'set') return `a list of ${words} ${limit} entries`
  return `${number} ${limit}`
}

function near(issue: Issue, value: unknown): string {
  if (issue.code !== 'invalid_value' || typeof value !== 'string') return ''
  const guess = nearest(
    value,
    issue.values.filter((item) => typeof item === 'string'),
  )
  return guess === undefined ? '' : ` (did you mean ${show(guess)}?)`
}

function show(value: unknown): string {
  // JSON has no word for NaN and the infinities.
  const text = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? String(value))
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}

function keyName(path: Path, at: Explained): string {
  return [...(at.prefix ?? []), ...path].map(String).join('.') || 'the file'
}

function valueAt(data: unknown, path: Path): unknown {
  return path.reduce(member, data)
}

function member(data: unknown, key: PropertyKey): unknown {
  return typeof data === 'object' && data !== null ? (data as Record<PropertyKey, unknown>)[key] : undefined
}

/** The schemas that may hold at a path: wrappers and what they wrap, unions opened. */
function schemasAt(schema: Schema, data: unknown, path: Path): Schema[] {
  let found = open(schema, data)
  path.forEach((key, depth) => {
    const value = valueAt(data, path.slice(0, depth + 1))
    found = found.flatMap((parent) => {
      const child = childOf(parent, key)
      return child === undefined ? [] : open(child, value)
    })
  })
  return found
}

function childOf(schema: Schema, key: PropertyKey): Schema | undefined {
  const { type, shape, valueType, element } = definition(schema)
  if (type === 'object') return shape?.[String(key)]
  return type === 'record' ? valueType : type === 'array' ? element : undefined
}

function open(schema: Schema, data: unknown): Schema[] {
  const def = definition(schema)
  if (def.type === 'union') return branchesOf(def, data).flatMap((option) => open(option, data))
  // Data meets a pipe at its entrance, which is no schema of keys where it transforms first.
  const entrance = def.in && definition(def.in).type === 'transform' ? def.out : def.in
  const inner = def.innerType ?? entrance
  return inner === undefined ? [schema] : [schema, ...open(inner, data)]
}

/** Options of a union; of a discriminated one, the option that the data names. */
function branchesOf({ options = [], discriminator }: Definition, data: unknown): readonly Schema[] {
  if (discriminator === undefined) return options
  const wanted = member(data, discriminator) as z.core.util.Primitive
  const named = options.filter((option) => option._zod.propValues?.[discriminator]?.has(wanted))
  return named.length > 0 ? named : options
}

function keysOf(schema: Schema): string[] {
  return Object.keys(definition(schema).shape ?? {})
}

function describe(schema: Schema): string | undefined {
  return (schema as z.ZodType).description
}

/** The parts of zod's definitions that are walked here. */
interface Definition {
  type: string
  format?: string
  shape?: Record<string, Schema>
  valueType?: Schema
  element?: Schema
  innerType?: Schema
  in?: Schema
  out?: Schema
  options?: readonly Schema[]
  discriminator?: string
}

function definition(schema: Schema): Definition {
  return schema._zod.def as unknown as Definition
}
