/** `--set key.path=value`: changes one value of a run file. */
import { parse } from 'yaml'
import { ConfigError } from '../core/errors.js'

/** Puts the value, read as YAML, into `data` at the dotted path; tables on the way are made. Throws ConfigError. */
export function applySetting(data: Record<string, unknown>, text: string): void {
  const [, path, value] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (path === undefined || value === undefined || path.split('.').some((key) => key.trim() === '')) {
    throw new ConfigError(`--set ${text} has no key and value.`, {
      hint: 'Write --set key.path=value, such as --set rounds=10.',
    })
  }
  const keys = path.split('.').map((key) => key.trim())
  if (keys.includes('__proto__')) throw new ConfigError(`--set ${text}: __proto__ is not a known key.`)
  let table = data
  keys.slice(0, -1).forEach((key, depth) => {
    const next = (Object.hasOwn(table, key) ? table[key] : undefined) ?? {}
    if (typeof next !== 'object' || Array.isArray(next)) {
      throw new ConfigError(`--set ${text}: ${keys.slice(0, depth + 1).join('.')} is not a table of keys.`)
    }
    table[key] = next
    table = next as Record<string, unknown>
  })
  table[keys.at(-1)!] = readValue(value, text)
}

function readValue(value: string, text: string): unknown {
  try {
    return parse(value)
  } catch (cause) {
    throw new ConfigError(`--set ${text}: the value is not valid YAML.`, {
      cause,
      hint: 'Quote it: --set \'key="value"\'.',
    })
  }
}
