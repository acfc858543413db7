import { DataError } from '../../core/errors.js'
import { isObject, type JsonObject } from './files.js'

/**
 * Typed access to the keys of a JSON object in a file. null counts as absent, as transformers writes it so. A key that
 * is absent without a fallback, or has the wrong type, is a DataError that names file, key and value.
 */
export class Fields {
  constructor(
    readonly path: string,
    readonly raw: JsonObject,
    private readonly prefix = '',
  ) {}

  has(key: string): boolean {
    return this.raw[key] !== undefined && this.raw[key] !== null
  }

  /** A whole number from 1 to `most`. */
  count(key: string, fallback?: number, most = Number.MAX_SAFE_INTEGER): number {
    const value = this.get(key, fallback, 'a whole number above 0', isCount)
    if (value <= most) return value
    throw this.refuse(key, `it must be at most ${most}`, 'Correct the value, or fetch the file again.')
  }

  /** A finite number > 0. */
  positive(key: string, fallback?: number): number {
    return this.get(key, fallback, 'a number above 0', isPositive)
  }

  flag(key: string, fallback: boolean): boolean {
    return this.get(key, fallback, 'true or false', (value) => typeof value === 'boolean')
  }

  text(key: string, fallback?: string): string {
    return this.get(key, fallback, 'a string', (value) => typeof value === 'string')
  }

  texts(key: string, fallback: string[]): string[] {
    return this.get(key, fallback, 'a list of strings', isTexts)
  }

  /** Token ids: one, several or none. */
  ids(key: string): number[] {
    const value = this.get<number | number[]>(key, [], 'a token id or a list of them', isIds)
    return Array.isArray(value) ? value : [value]
  }

  /** A nested object, or undefined where there is none. */
  object(key: string): Fields | undefined {
    const value = this.get<JsonObject>(key, {}, 'an object', isObject)
    return this.has(key) ? new Fields(this.path, value, `${this.prefix}${key}.`) : undefined
  }

  /** An error about a key whose value is well-typed but cannot be used. */
  refuse(key: string, what: string, hint: string): DataError {
    return new DataError(
      `${this.path} sets ${this.prefix}${key} to ${JSON.stringify(this.raw[key])}: ${what}.`,
      { hint },
    )
  }

  private get<T>(key: string, fallback: T | undefined, kind: string, test: (value: unknown) => boolean): T {
    if (!this.has(key)) {
      if (fallback !== undefined) return fallback
      throw new DataError(`${this.path} has no ${this.prefix}${key}.`, {
        hint: 'Is this the configuration of a causal language model in Hugging Face form?',
      })
    }
    const value = this.raw[key]
    if (test(value)) return value as T
    throw this.refuse(key, `it must be ${kind}`, 'Correct the value, or fetch the file again.')
  }
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 1
}

function isPositive(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value > 0
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function isId(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isIds(value: unknown): boolean {
  return Array.isArray(value) ? value.every(isId) : isId(value)
}
