/** A run of one program: its folder, its pipes, its clock, and the end of it and of everything it started. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, type FileHandle, mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { release, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { GraderError, messageOf } from '../../core/errors.js'
import { programEnvironment } from './interpreters.js'
import { type Isolation, isRoot, launchCommand } from './isolation.js'
import { type Job, message } from './job.js'
import { type Limits, MIB, resourceLimits, totalMemoryMb } from './limits.js'
import { childOf, countTasks, killMarked, type MemoryWatch, processesOf, sendSignal } from './processes.js'
import type { Language } from './task.js'

/** Why a program runs no longer: by itself, or what it was killed for. `stopped`: nobody needed it any more. */
export type Ended = 'exit' | 'timeout' | 'memory' | 'output_limit' | 'stopped' | 'error'

export interface RunResult {
  ended: Ended
  /** Exit status, 128 + number for a signal. */
  status: number
  stdout: string
  /** The last 4 KiB; what the system said where the program could not be started. */
  stderr: string
}

export interface RunOptions {
  /** Standard input; empty where absent. */
  input?: string
  /** Tests that the program runs, each with its full time. @default 1 */
  tests?: number
  /** A line that the program sent to the grader, a letter and JSON. */
  onMessage?: (line: string) => void
}

export interface RunSpec extends RunOptions {
  isolation: Isolation
  tools: boolean
  /** User id that no other program has, where Sparring is root. */
  uid: number
  needs: string[]
  language: Language
  limits: Limits
  program: string[]
  job: Job
  watch: MemoryWatch
}

const STDERR_KEPT = 4096
/** What a message counts beside its length, bytes: reading many short ones takes the grader's own time. */
const MESSAGE_COST = 64
/** Exit status of a program that has used up its CPU time (SIGXCPU). */
const CPU_STATUS = 128 + 24
const KILLED_STATUS = 128 + 9
/** What interpreters say when they get no more memory. */
export const OUT_OF_MEMORY = /MemoryError|out of memory|bad_alloc|allocation failed|Cannot allocate memory/

export class Run {
  /** Never rejects. All processes are dead by then, and the folder is gone. */
  readonly done: Promise<RunResult>
  readonly #spec: RunSpec
  readonly #child: ChildProcess
  readonly #folder: string | undefined
  readonly #mark: number
  readonly #unwatch: () => void
  readonly #stdout: Buffer[] = []
  #stderr = Buffer.alloc(0)
  #written = 0
  /** Set once the program is to be killed, or all that it wrote was read. */
  #ended: Ended | undefined
  #running = true
  #timer: NodeJS.Timeout | undefined

  /** Throws GraderError where the temporary folder cannot be used. */
  static async start(spec: RunSpec): Promise<Run> {
    const { isolation, input, uid } = spec
    let stdin: FileHandle | undefined
    try {
      stdin = input === undefined ? undefined : await openInput(input)
      const folder = isolation === 'namespaces' ? undefined : await temporaryFolder()
      if (folder !== undefined && isolation === 'user') await chown(folder, uid, uid)
      return new Run(spec, folder, stdin?.fd)
    } catch (cause) {
      throw new GraderError(`A program could not be started in ${tmpdir()} (${messageOf(cause)}).`, {
        hint: 'See that the disk has space, and the machine processes and memory, to spare.',
        cause,
      })
    } finally {
      await stdin?.close()
    }
  }

  private constructor(spec: RunSpec, folder: string | undefined, stdin: number | undefined) {
    const { isolation, language, limits, job } = spec
    this.#spec = spec
    this.#folder = folder
    this.#mark = 1 + Math.floor(Math.random() * 800_000)
    const cpuSeconds = Math.ceil((limits.wallMs * (spec.tests ?? 1)) / 1000)
    const resources = { ...resourceLimits(language, limits, cpuSeconds), msgqueue: this.#mark }
    const launch = { ...spec, folderMb: limits.folderMb, limits: { ...resources, ...processLimit(spec) } }
    const [command, ...args] = launchCommand(isolation, launch, spec.program)
    this.#child = spawn(command!, args, {
      cwd: folder ?? '/',
      env: programEnvironment(folder ?? '/tmp'),
      stdio: [stdin ?? 'ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
      detached: true,
    })
    this.#child.on('error', () => {})
    const { pid, stdout, stderr } = this.#child
    for (const stream of this.#child.stdio ?? []) stream?.on('error', () => {})
    stdout?.on('data', (chunk: Buffer) => this.#count(chunk.length) && this.#stdout.push(chunk))
    stderr?.on('data', (chunk: Buffer) => {
      if (this.#count(chunk.length))
        this.#stderr = Buffer.concat([this.#stderr, chunk]).subarray(-STDERR_KEPT)
    })
    this.#readLines()
    this.#unwatch =
      pid === undefined
        ? () => {}
        : spec.watch.watch(pid, totalMemoryMb(language, limits) * 1024, () => this.#end('memory'))
    this.extend()
    this.send(message('J', job))
    this.done = this.#finish()
  }

  send(line: string): void {
    const channel = this.#child.stdio?.[3] as Writable | undefined
    if (channel?.writable) channel.write(line)
  }

  /** Gives the program the full time and output of a test from now on. */
  extend(): void {
    this.#written = 0
    clearTimeout(this.#timer)
    if (this.#ended === undefined && this.#running) {
      this.#timer = setTimeout(() => this.#end('timeout'), this.#spec.limits.wallMs)
    }
  }

  /** Kills the program, which then ends as `stopped`. */
  stop(): void {
    this.#end('stopped')
  }

  #end(reason: Ended): void {
    if (this.#ended !== undefined) return
    this.#ended = reason
    void this.#kill()
  }

  /** False once the program wrote too much, or has ended. */
  #count(bytes: number): boolean {
    this.#written += bytes
    if (this.#written > this.#spec.limits.outputMb * MIB) this.#end('output_limit')
    return this.#ended === undefined
  }

  #readLines(): void {
    let chunks: Buffer[] = []
    const channel = this.#child.stdio?.[4] as Readable | undefined
    channel?.on('data', (chunk: Buffer) => {
      let rest = chunk
      for (let end = rest.indexOf(10); end >= 0 && this.#count(end + MESSAGE_COST); end = rest.indexOf(10)) {
        this.#spec.onMessage?.(Buffer.concat([...chunks, rest.subarray(0, end)]).toString())
        chunks = []
        rest = rest.subarray(end + 1)
      }
      if (this.#count(rest.length)) chunks.push(rest)
    })
  }

  async #finish(): Promise<RunResult> {
    const child = this.#child
    const closed = once(child, 'close').catch(() => {})
    const failure = await once(child, 'exit').then(
      () => undefined,
      (error: Error) => error,
    )
    this.#running = false
    clearTimeout(this.#timer)
    this.#unwatch()
    if (failure) this.#stderr = Buffer.from(failure.message)
    else await this.#killRest()
    await Promise.race([closed, sleep(failure ? 0 : 2000, undefined, { ref: false })])
    for (const stream of child.stdio ?? []) stream?.destroy()
    if (this.#folder) await removeFolder(this.#folder)

    this.#ended ??= failure ? 'error' : 'exit'
    const stdout = Buffer.concat(this.#stdout).toString()
    const stderr = this.#stderr.toString()
    const status = child.exitCode ?? KILLED_STATUS
    return { ended: reasonOf(this.#ended, status, stderr), status, stdout, stderr }
  }

  /**
   * The first process of a namespace takes all others of it along, and its parent ends only when they are gone; so it
   * is that process which is killed, as soon as there is one.
   */
  async #kill(): Promise<void> {
    const { pid } = this.#child
    if (pid === undefined) return
    if (this.#spec.isolation === 'namespaces') {
      for (let waited = 0; waited < 2000 && this.#running; waited += 20) {
        const first = childOf(pid)
        if (first !== undefined) sendSignal(first, 'SIGKILL')
        await sleep(20)
      }
    }
    if (this.#running) sendSignal(-pid, 'SIGKILL')
  }

  /** Where no namespace does it: kills what left the process group or its parent. */
  async #killRest(): Promise<void> {
    const { isolation, uid } = this.#spec
    if (isolation === 'namespaces') return
    sendSignal(-this.#child.pid!, 'SIGKILL')
    if (isolation === 'user') await killUser(uid)
    if (isolation === 'process') await killMarked(this.#mark)
  }
}

function reasonOf(ended: Ended, status: number, stderr: string): Ended {
  if (ended !== 'exit' || status === 0) return ended
  if (status === CPU_STATUS) return 'timeout'
  return OUT_OF_MEMORY.test(stderr) ? 'memory' : 'exit'
}

function temporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'sparring-code-'))
}

/**
 * Standard input as a file without a name: unlike a pipe it cannot break, and programs may open it again by
 * /dev/stdin.
 */
async function openInput(input: string): Promise<FileHandle> {
  const folder = await temporaryFolder()
  try {
    const path = join(folder, 'input')
    await writeFile(path, input, { mode: 0o444 })
    return await open(path, 'r')
  } finally {
    await rm(folder, { recursive: true })
  }
}

/**
 * A user id of its own, and a user namespace from Linux 5.14 on, count their own processes; elsewhere the user's
 * other processes count as well, and where they cannot be counted there can be no limit.
 */
function processLimit({ isolation, limits }: RunSpec): { nproc?: number } {
  const [major = 0, minor = 0] = release().split('.').map(Number)
  const counted = isRoot ? isolation !== 'process' : isolation === 'namespaces' && major * 100 + minor >= 514
  if (counted) return {}
  const others = countTasks(process.getuid?.() ?? 0)
  return others === 0 ? { nproc: Number.MAX_SAFE_INTEGER } : { nproc: limits.processes + others }
}

/** One signal to all that a user runs leaves no gap through which a fork could slip. */
async function killUser(uid: number): Promise<void> {
  const args = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', 'sh', '-c', 'kill -9 -1']
  const killer = spawn('setpriv', args, { stdio: 'ignore', env: programEnvironment('/') })
  await once(killer, 'close').catch(() => {})
  for (let waited = 0; waited < 2000 && processesOf(uid).length > 0; waited += 5) await sleep(5)
}

/** What a program left may be without permissions, or nested deeper than a path can say. */
async function removeFolder(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true })
  } catch {
    const script = 'chmod -R u+rwX -- "$1"; rm -rf -- "$1"'
    const remover = spawn('sh', ['-c', script, 'sh', folder], {
      stdio: 'ignore',
      env: programEnvironment('/'),
    })
    await once(remover, 'close').catch(() => {})
  }
}
