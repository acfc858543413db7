/** What Linux says of processes; on systems without /proc there is nothing to see. */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

export function processIds(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger)
  } catch {
    return []
  }
}

/** Id of the parent, 0 where the process is gone. */
export function parentOf(pid: number): number {
  return Number(/^[\s\S]*\) \S (\d+)/.exec(read(`/proc/${pid}/stat`))?.[1] ?? 0)
}

/** A child of the process, undefined where it has none. Those with ids next to its own are looked at first. */
export function childOf(pid: number): number | undefined {
  const ids = processIds().sort((a, b) => a - b)
  const next = ids.findIndex((id) => id > pid)
  return [...ids.slice(next), ...ids.slice(0, next)].find((id) => parentOf(id) === pid)
}

/** Memory in use, KiB; what processes share is counted for each. */
function residentKb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(read(`/proc/${pid}/status`))?.[1] ?? 0)
}

/** Memory in use, KiB; what n processes share counts 1 / n for each. Slow, and not always allowed to be known. */
function proportionalKb(pid: number): number | undefined {
  const kb = /^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1]
  return kb === undefined ? undefined : Number(kb)
}

/** Processes that ended but were not yet collected by their parent run no longer. */
const runs = /^State:\s+[^ZX\s]/m

/** Processes of a user that run. */
export function processesOf(uid: number): number[] {
  return processIds().filter((pid) => {
    const status = read(`/proc/${pid}/status`)
    return userOf(status) === uid && runs.test(status)
  })
}

/** Processes and threads of a user as the limit on them counts; 0 where the system does not say. */
export function countTasks(uid: number): number {
  return processIds().reduce((sum, pid) => {
    const status = read(`/proc/${pid}/status`)
    return sum + (userOf(status) === uid ? Number(/^Threads:\s+(\d+)/m.exec(status)?.[1] ?? 0) : 0)
  }, 0)
}

function userOf(status: string): number {
  return Number(/^Uid:\s+(\d+)/m.exec(status)?.[1])
}

export function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // Gone, or not ours.
  }
}

/**
 * Processes carry the hard limit on message queues that their ancestor was given, whatever their parent, group or
 * session, so a limit that no other process has marks them.
 */
function marked(mark: number): number[] {
  const limit = new RegExp(`^Max msgqueue size\\s+\\d+\\s+${mark}\\s`, 'm')
  return processIds().filter(
    (pid) => limit.test(read(`/proc/${pid}/limits`)) && runs.test(read(`/proc/${pid}/status`)),
  )
}

/** Kills every process with the mark. All are stopped first, so that none can fork into a place another leaves. */
export async function killMarked(mark: number): Promise<void> {
  const seen = new Set<number>()
  for (let fresh = marked(mark); fresh.length > 0; fresh = marked(mark).filter((pid) => !seen.has(pid))) {
    for (const pid of fresh) {
      sendSignal(pid, 'SIGSTOP')
      seen.add(pid)
    }
  }
  for (const pid of seen) sendSignal(pid, 'SIGKILL')
  for (let waited = 0; waited < 2000 && marked(mark).length > 0; waited += 5) await sleep(5)
}

/**
 * Watches the memory of process trees. A process belongs to the tree that its parent belonged to when it was first
 * seen, so the look at a process that is no concern of ours is taken once.
 */
export class MemoryWatch {
  readonly #roots = new Map<number, { limitKb: number; exceeded: () => void }>()
  readonly #rootOf = new Map<number, number | undefined>()
  #timer: NodeJS.Timeout | undefined

  /** Calls `exceeded` once the tree of `root` holds more than the limit. Returns the end of watching. */
  watch(root: number, limitKb: number, exceeded: () => void): () => void {
    this.#roots.set(root, { limitKb, exceeded })
    this.#timer ??= setInterval(() => this.#look(), 100)
    return () => {
      this.#roots.delete(root)
      if (this.#roots.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
      this.#rootOf.clear()
    }
  }

  #look(): void {
    const present = new Set(processIds())
    for (const pid of this.#rootOf.keys()) if (!present.has(pid)) this.#rootOf.delete(pid)
    const trees = new Map<number, number[]>()
    for (const pid of [...present].sort((a, b) => a - b)) {
      const root = this.#find(pid, present)
      if (root !== undefined) trees.set(root, [...(trees.get(root) ?? []), pid])
    }
    for (const [root, tree] of trees) {
      const { limitKb = Number.POSITIVE_INFINITY, exceeded } = this.#roots.get(root) ?? {}
      const within = (kbOf: (pid: number) => number) =>
        tree.reduce((sum, pid) => sum + kbOf(pid), 0) <= limitKb
      if (!within(residentKb) && !within((pid) => proportionalKb(pid) ?? residentKb(pid))) exceeded?.()
    }
  }

  #find(pid: number, present: Set<number>): number | undefined {
    if (this.#roots.has(pid)) return pid
    if (!present.has(pid)) return undefined
    if (this.#rootOf.has(pid)) return this.#rootOf.get(pid)
    this.#rootOf.set(pid, undefined)
    const root = this.#find(parentOf(pid), present)
    this.#rootOf.set(pid, root)
    return root
  }
}
