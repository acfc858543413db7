/** What is said when a command fails, and its exit status: 1 failed while running, 2 wrong usage, 130 ended by Ctrl-C. */
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CommanderError } from 'commander'
import { messageOf, SparringError } from '../core/errors.js'
import { projectRoot } from '../core/paths.js'
import { paint } from './paint.js'

interface Failure {
  status: number
  code: string
  message: string
  hint?: string | undefined
}

/** Prints the error on stderr, or as an event on stdout, and returns the exit status. */
export function reportFailure(error: unknown, { json, debug }: { json: boolean; debug: boolean }): number {
  if (error instanceof CommanderError && error.exitCode === 0) return 0
  if (error instanceof CommanderError && error.code === 'commander.help') return 2
  const { status, code, message, hint } = classify(error)
  if (json) {
    process.stdout.write(`${JSON.stringify({ event: 'error', code, message, hint })}\n`)
  } else {
    process.stderr.write(`${paint(process.stderr, 'red', 'error:')} ${printable(message)}\n`)
    if (hint !== undefined) process.stderr.write(`hint: ${printable(hint)}\n`)
  }
  if (debug) process.stderr.write(`${stackOf(error)}\n`)
  return status
}

function classify(error: unknown): Failure {
  if (SparringError.isInstance(error)) {
    return { status: error.exitStatus, code: error.code, message: error.message, hint: error.hint }
  }
  if (error instanceof CommanderError) return { status: 2, code: 'config', ...usageOf(error.message) }
  if (error instanceof Error && error.name === 'AbortError') {
    return { status: 130, code: 'aborted', message: 'Ended before it was done.' }
  }
  const place = placeInModule(error)
  if (place !== undefined) {
    const hint = 'That module is not of Sparring: mend it there; --debug shows how the program came to it.'
    return { status: 1, code: 'module', message: `${place}: ${messageOf(error)}`, hint }
  }
  const hint = 'This is a fault of Sparring itself; --debug shows where it arose.'
  return { status: 1, code: 'invariant', message: messageOf(error), hint }
}

/** File and line, of a module that a user brought, that an error arose in or beneath; undefined where none had a part in it. */
function placeInModule(error: unknown): string | undefined {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  const places = stack.matchAll(/[\s(](file:\/\/\S+?|(?:\/|[A-Za-z]:\\)[^()]*?):(\d+):\d+\)?$/gm)
  for (const [, file = '', line] of places) {
    const path = file.startsWith('file:') ? fileURLToPath(file) : file
    const own = relative(projectRoot(), path)
    const ours = !own.startsWith('..') && own !== path
    if (!ours && !/[/\\]node_modules[/\\]/.test(path)) return `${relative(process.cwd(), path)}:${line}`
  }
  return undefined
}

/** Commander's own words, its guess at what was meant as the hint. */
function usageOf(text: string): { message: string; hint?: string } {
  const [message = '', guess] = text.replace(/^error: /, '').split('\n')
  const sentence = `${message.charAt(0).toUpperCase()}${message.slice(1)}${/[.!?]$/.test(message) ? '' : '.'}`
  const hint = guess?.replace(/^\((.*)\)$/, '$1') ?? 'See sparring --help, or sparring COMMAND --help.'
  return { message: sentence, hint }
}

/** A message may quote a file or an argument: control characters would reach the terminal as commands. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}+/gu, (found) =>
    JSON.stringify(found).slice(1, -1).replaceAll('\x7f', '\\u007f'),
  )
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause === undefined ? '' : `\ncaused by: ${stackOf(error.cause)}`
  return `${error.stack ?? error.message}${cause}`
}
