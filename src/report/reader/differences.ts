/** What is not the same in the settings of some runs. */

/** Values by key path; a list is one value. Null where a run lacks the key. */
export function differences(configs: readonly unknown[]): { key: string; values: unknown[] }[] {
  const flat = configs.map((config) => new Map(leaves(config, [])))
  const keys = [...new Set(flat.flatMap((values) => [...values.keys()]))]
  return keys.flatMap((key) => {
    const values = flat.map((each) => each.get(key) ?? null)
    const isSame = new Set(values.map((value) => JSON.stringify(value))).size === 1
    return isSame ? [] : { key, values }
  })
}

function leaves(value: unknown, path: string[]): [string, unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[path.join('.'), value]]
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...path, key]))
}
