/** One process at a time writes a run. The lock names a process by id and start time, since ids are used again. */
import { execFileSync } from 'node:child_process'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { ConfigError } from '../core/errors.js'
import { parseLine } from './lines.js'

interface Owner {
  pid: number
  started: string
  host: string
}

/** Takes the lock at `path` and returns its release; throws ConfigError while another live process holds it. */
export function takeLock(path: string, run: string): () => void {
  const mine = JSON.stringify({ pid: process.pid, started: startTime(process.pid) ?? '', host: hostname() })
  while (!create(path, mine)) {
    const held = readIfThere(path)
    if (held === undefined) continue
    const owner = parseLine(held) as Owner | undefined
    if (owner !== undefined && isAlive(owner)) {
      const where = owner.host === hostname() ? '' : ` on ${owner.host}`
      throw new ConfigError(`${run} is in use by process ${owner.pid}${where}.`, {
        hint:
          where === ''
            ? 'Wait for that process or stop it, or give this run another folder with --run.'
            : `If that process is gone, delete ${run}/lock.`,
      })
    }
    takeAway(path, held)
  }
  return () => {
    if (read(path) === mine) rmSync(path, { force: true })
  }
}

/** Whether the process that a lock names, by the text of its file, still lives. */
export function isHeld(lock: string): boolean {
  const owner = parseLine(lock) as Owner | undefined
  return owner !== undefined && isAlive(owner)
}

function create(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Undefined where the lock has just gone; throws where it cannot be read, which no waiting would mend. */
function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/** Renamed before it is deleted: of two processes that both found the lock stale, the later must not delete the earlier's new one. */
function takeAway(path: string, stale: string): void {
  const aside = `${path}.${process.pid}`
  try {
    renameSync(path, aside)
  } catch {
    return
  }
  const taken = read(aside)
  if (taken !== undefined && taken !== stale) create(path, taken)
  rmSync(aside, { force: true })
}

/** A process of another machine counts as alive: nothing here can tell. */
function isAlive(owner: Owner): boolean {
  if (owner.host !== hostname()) return true
  try {
    process.kill(owner.pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  const started = startTime(owner.pid)
  return started !== 'ended' && (started === undefined || owner.started === '' || started === owner.started)
}

/** When a process started, in the system's own words; `ended` for one that only waits to be collected; undefined where the system does not say. */
function startTime(pid: number): string | undefined {
  if (process.platform === 'linux') {
    const stat = read(`/proc/${pid}/stat`)
    if (stat === undefined) return undefined
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? 'ended' : fields[19]
  }
  if (process.platform === 'win32') return undefined
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim()
  } catch {
    return undefined
  }
}
