/** What is said when a command fails, and its exit status: 1 failed while running, 2 wrong usage, 130 ended by Ctrl-C. */
import { CommanderError } from 'commander'
import { messageOf, SparringError } from '../core/errors.js'
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
  const hint = 'This is a fault of Sparring itself; --debug shows where it arose.'
  return { status: 1, code: 'invariant', message: messageOf(error), hint }
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
