/** Programs that may do anything, run so that they harm nothing but themselves. */
import { GraderError } from '../../core/errors.js'
import { findInterpreters, type Interpreter, programCommand } from './interpreters.js'
import { type Isolation, isolations, isRoot } from './isolation.js'
import type { Job } from './job.js'
import { defaultLimits, type Limits } from './limits.js'
import { MemoryWatch } from './processes.js'
import { Run, type RunOptions } from './run.js'
import type { Language } from './task.js'

export interface SandboxOptions {
  limits?: Partial<Limits>
  /** Layers that may be used, of which the strongest that works is. @default all */
  isolation?: readonly Isolation[]
  /** Program that starts Python. @default 'python3' */
  python?: string
}

/** How programs of a language are kept apart from the machine. */
export interface SandboxReport {
  isolation: Isolation
  interpreter: string
  /** What is in force, in words. */
  text: string
}

/** A way to run a language that was tried and works. */
interface Way {
  isolation: Isolation
  tools: boolean
  interpreter: Interpreter
}

const UIDS = 4096

export class Sandbox {
  readonly limits: Limits
  readonly #options: SandboxOptions
  readonly #ways = new Map<Language, Promise<Way>>()
  readonly #watch = new MemoryWatch()
  /** User ids of this sandbox's programs: a range of its own, far above those of accounts. */
  readonly #firstUid = 0x40000000 + Math.floor(Math.random() * 2 ** 18) * UIDS
  readonly #uids = new Set<number>()
  #turn = 0

  constructor(options: SandboxOptions = {}) {
    this.#options = options
    const set = Object.entries(options.limits ?? {}).filter(([, limit]) => limit !== undefined)
    this.limits = { ...defaultLimits, ...Object.fromEntries(set) }
  }

  /** Throws GraderError where nothing runs the language here. */
  async describe(language: Language): Promise<SandboxReport> {
    const { isolation, tools, interpreter } = await this.#way(language)
    return {
      isolation,
      interpreter: interpreter.path,
      text: describeIsolation(isolation, tools, this.limits),
    }
  }

  /** Starts a job. Throws GraderError where nothing runs the language here. */
  async start(language: Language, job: Job, options: RunOptions = {}): Promise<Run> {
    return this.#launch(await this.#way(language), language, job, options)
  }

  #way(language: Language): Promise<Way> {
    let way = this.#ways.get(language)
    if (way === undefined) {
      way = this.#findWay(language)
      this.#ways.set(language, way)
      way.catch(() => this.#ways.delete(language))
    }
    return way
  }

  async #findWay(language: Language): Promise<Way> {
    const { isolation: allowed = isolations, python = 'python3' } = this.#options
    const interpreters = await findInterpreters(language, python)
    const failures: string[] = []
    for (const isolation of isolations.filter((name) => allowed.includes(name))) {
      if (isolation === 'user' && !isRoot) continue
      for (const tools of isolation === 'process' ? [true, false] : [true]) {
        for (const interpreter of interpreters) {
          const way = { isolation, tools, interpreter }
          const failure = await this.#try(way, language)
          if (failure === undefined) return way
          failures.push(`${isolation}: ${failure}`)
        }
      }
    }
    throw new GraderError(
      `No ${language} program could be run (${failures.join('; ') || 'no layer applies'}).`,
      {
        hint: `Layers allowed are ${allowed.join(', ')}; docs/code-tasks.md says what each needs.`,
      },
    )
  }

  /**
   * Runs a program that says 1; what went wrong where it does not. A machine too busy to run it in time must not pass
   * for one that lacks a layer.
   */
  async #try(way: Way, language: Language): Promise<string | undefined> {
    const source = language === 'python' ? 'print(1)' : 'console.log(1)'
    const job: Job = { mode: 'script', sources: [source], prelude: false }
    for (let attempt = 0; attempt < 3; attempt++) {
      const { ended, stdout, stderr } = await (await this.#launch(way, language, job, {})).done
      if (ended !== 'timeout') return stdout === '1\n' ? undefined : stderr.trim().split('\n').at(-1) || ended
    }
    throw new GraderError(`A ${language} program of one line did not end in ${this.limits.wallMs} ms.`, {
      hint: 'Give this machine less to do at once, or raise the limit `wallMs`.',
    })
  }

  async #launch(way: Way, language: Language, job: Job, options: RunOptions): Promise<Run> {
    const { isolation, tools, interpreter } = way
    const uid = this.#takeUid()
    const release = () => this.#uids.delete(uid)
    const started = Run.start({
      isolation,
      tools,
      uid,
      needs: interpreter.needs,
      language,
      limits: this.limits,
      program: programCommand(language, interpreter, this.limits),
      job,
      watch: this.#watch,
      ...options,
    })
    started.then((run) => run.done).then(release, release)
    return started
  }

  /** In turn, so that what the system has yet to clear away of a former program counts for no other. */
  #takeUid(): number {
    do {
      this.#turn = (this.#turn + 1) % UIDS
    } while (this.#uids.has(this.#firstUid + this.#turn))
    const uid = this.#firstUid + this.#turn
    this.#uids.add(uid)
    return uid
  }
}

function describeIsolation(isolation: Isolation, tools: boolean, limits: Limits): string {
  const limited = `limits on time, memory, files${tools ? ', processes' : ''} and output`
  const layers: Record<Isolation, string> = {
    namespaces: `namespaces for processes, files, network and IPC: no network, no other process in sight, read-only system folders, an empty working folder of ${limits.folderMb} MiB in memory; ${isRoot ? 'a user id of its own' : 'no capabilities'}; ${limited}`,
    user: `a user id of its own: other processes out of reach, files as any user may; the network is open; ${limited}`,
    process: `${limited} alone: files, processes and network are open to the program as they are to Sparring`,
  }
  return layers[isolation]
}
