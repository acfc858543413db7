/** Where a service is and with what key it is asked, checked before anything is. */
import { ConfigError } from '../core/errors.js'

/**
 * The address without a slash at its end, and without the path of the operation that many paste along. Throws
 * ConfigError where it cannot be one.
 */
export function baseUrl(text: string): string {
  const hint = 'Give the base address of an OpenAI-compatible service, such as http://localhost:8000/v1.'
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new ConfigError(`${text} is no http(s) address.`, { hint })
  }
  const url = new URL(text)
  if (url.username || url.password || url.search || url.hash) {
    throw new ConfigError(`The address of ${url.host} holds more than host and path.`, {
      hint: 'A key belongs into the environment, where nothing writes it down.',
    })
  }
  return `${url.origin}${url.pathname}`.replace(/(\/chat)?\/completions\/*$/, '').replace(/\/+$/, '')
}

/** The key in the variable, where there is one. Throws ConfigError where it cannot be one. */
export function keyFrom(variable: string): string | undefined {
  const key = process.env[variable]?.trim()
  if (!key) return undefined
  if (/^[\x21-\x7e]+$/.test(key)) return key
  throw new ConfigError(`${variable} holds what cannot be a key.`, {
    hint: 'A key is one word of plain characters.',
  })
}
