/** The program that a response and its task make together. */
import type { FunctionTask, Language, ProgramTask } from './task.js'

/**
 * Spellings of prompt and code as one program, of which the first that compiles is meant: the code may go on where
 * the prompt ends, write the function again, or be the body of it with the indentation lost.
 */
export function programSources({ language, prompt = '', entryPoint }: ProgramTask, code: string): string[] {
  if (prompt === '') return [code]
  const again = entryPoint !== undefined && definition(language, entryPoint).test(code)
  if (language === 'javascript') return again ? [code] : [prompt + code, `${prompt}${code}\n}`, code]
  if (again) return [`${prompt}\n${code}`, `${prompt}\n    pass\n${code}`, code]
  const indented = code.replace(/^(?=.*\S)/gm, '    ')
  return [prompt + code, `${prompt}\n${code}`, `${prompt}\n    ${code}`, `${prompt}\n${indented}`, code]
}

/** Spellings of a prompt alone: tests may use what it imports and defines. */
export function promptSources({ language, prompt = '' }: ProgramTask): string[] {
  return language === 'python' ? [prompt, `${prompt}\n    pass\n`] : [prompt, `${prompt}\n}`]
}

/** The function that the tests call, where the task or the tests name it. */
export function entryPointOf({ entryPoint, tests }: ProgramTask): string | undefined {
  return entryPoint ?? /\bcandidate\s*=\s*([A-Za-z_$][\w$]*)\s*(?:;|$)/m.exec(tests)?.[1]
}

/** Arguments of a call as the solution gets them: in JavaScript every number is a double. */
export function argumentsFor({ language }: FunctionTask, args: unknown[]): unknown[] {
  return language === 'python' ? args : args.map(asDoubles)
}

function asDoubles(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(asDoubles)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, asDoubles(item)]))
}

function definition(language: Language, name: string): RegExp {
  const escaped = name.replaceAll('$', '\\$')
  if (language === 'python') return new RegExp(`^(?:(?:async\\s+)?def\\s+${escaped}\\b|${escaped}\\s*=)`, 'm')
  return new RegExp(`\\bfunction\\s*\\*?\\s*${escaped}\\b|\\b(?:const|let|var)\\s+${escaped}\\s*=`)
}
