import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { GraderError } from '../core/errors.js'
import type { Finding } from './grade.js'
import type { Question, Reply } from './grade-worker.js'

/** Time a fresh process has until it says that it is ready, milliseconds. */
const START_DEADLINE = 30_000
const START_ATTEMPTS = 3

/** Memory of the process beyond which it dies, megabytes. */
const MEMORY_LIMIT = 256

export type Outcome = Finding | 'timeout' | 'error'

/** A grading process that is started when it is first needed, killed at the deadline and replaced when it died. */
export class GradeChild {
  readonly #path: string
  readonly #deadlineMs: number
  #process: ChildProcess | undefined
  #closed = false

  constructor(path: string, deadlineMs: number) {
    this.#path = path
    this.#deadlineMs = deadlineMs
  }

  /**
   * One question at a time. A process that dies over a question gets a second try in a new one, so that a death from
   * outside does not change a verdict. Throws GraderError where no process can be started.
   */
  async ask(question: Question): Promise<{ outcome: Outcome; ms: number }> {
    for (let attempt = 0; attempt < 2; attempt++) {
      const child = await this.#ready()
      const began = performance.now()
      child.send(question, () => {})
      const reply = await nextReply(child, this.#deadlineMs)
      const ms = performance.now() - began
      if (typeof reply === 'object') return { outcome: reply, ms }
      await this.#kill()
      if (reply === 'deadline') return { outcome: 'timeout', ms }
    }
    return { outcome: 'error', ms: 0 }
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#kill()
  }

  async #ready(): Promise<ChildProcess> {
    for (let attempt = 0; attempt < START_ATTEMPTS; attempt++) {
      if (this.#closed) throw new GraderError('The grader was closed while answers were being graded.')
      if (this.#process?.connected) return this.#process
      await this.#kill()
      const child = start(this.#path)
      this.#process = child
      if ((await nextReply(child, START_DEADLINE)) === 'ready') return child
      await this.#kill()
    }
    throw new GraderError(`The grading process ${this.#path} could not be started.`, {
      hint: 'Free memory or processes on this machine, or install Sparring anew if files are missing.',
    })
  }

  async #kill(): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.ref()
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
  }
}

/** The process alone never keeps its parent alive; the timer of an open question does. */
function start(path: string): ChildProcess {
  const child = fork(path, {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    execArgv: [`--max-old-space-size=${MEMORY_LIMIT}`],
  })
  child.on('error', () => {})
  child.unref()
  child.channel?.unref()
  return child
}

function nextReply(child: ChildProcess, deadlineMs: number): Promise<Reply | 'exit' | 'deadline'> {
  return new Promise((resolve) => {
    const settle = (reply: Reply | 'exit' | 'deadline') => {
      clearTimeout(timer)
      child.off('message', settle).off('exit', exit).off('error', exit)
      resolve(reply)
    }
    const exit = () => settle('exit')
    const timer = setTimeout(settle, deadlineMs, 'deadline')
    child.on('message', settle).on('exit', exit).on('error', exit)
  })
}
