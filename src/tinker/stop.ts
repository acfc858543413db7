/** Where completions end: what the server is told, and what is cut here. */

/**
 * Servers take ids or strings, not both, and token ids work best everywhere: some servers apply strings only once a
 * completion has its full length. So ids are sent where there are any, and strings are then looked for here.
 */
export function planStop(
  ids: readonly number[],
  strings: readonly string[],
): {
  stop: number[] | string[]
  /** Strings that the server was not told of: see `cutAtString`. */
  cut: string[]
} {
  if (ids.length > 0) return { stop: [...ids], cut: [...strings] }
  return { stop: [...strings], cut: [...strings] }
}

/** Tokens up to the first that is among the ids, it included; undefined where there is none. */
export function cutAtId(tokens: Int32Array, ids: readonly number[]): number | undefined {
  const at = tokens.findIndex((token) => ids.includes(token))
  return at < 0 ? undefined : at + 1
}

/**
 * Fewest tokens whose text contains one of the strings; undefined where the whole has none. `decode` gives the text of
 * the first `length` tokens.
 */
export function cutAtString(
  length: number,
  decode: (length: number) => string,
  strings: readonly string[],
): number | undefined {
  const ends = (count: number) => {
    const text = decode(count)
    return strings.some((stop) => text.includes(stop))
  }
  if (strings.length === 0 || !ends(length)) return undefined
  let without = 0
  let within = length
  while (within - without > 1) {
    const middle = (without + within) >> 1
    if (ends(middle)) within = middle
    else without = middle
  }
  return within
}
