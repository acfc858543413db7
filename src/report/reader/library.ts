/** All runs of a folder, and those that are open. */
import { readdir, realpath, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import type { Comparison, RunsAnswer } from '../api/run.js'
import { differences } from './differences.js'
import { isWithin } from './files.js'
import { holdsRun, requireFolder } from './folders.js'
import { RunReader } from './run.js'

/** Folders below the runs folder in which runs are looked for: runs, and sweeps of runs. */
const DEPTH = 3

/** Runs whose metrics and rollouts are kept in memory, and milliseconds for which one that was asked for is kept at least. */
const OPEN = 4
const IN_USE = 30_000

/** Milliseconds for which the list of folders is taken as it was, and a run that nobody plays. */
const FRESH = 3000

/** Runs whose files are read at the same time. */
const AT_ONCE = 16

export class Library {
  /** As the user would write it. */
  readonly folder: string
  readonly #root: string
  #runs = new Map<string, RunReader>()
  #skipped = 0
  #looked = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | undefined
  /** When each was last asked for; the least recent first. */
  readonly #open = new Map<RunReader, number>()

  private constructor(folder: string, root: string) {
    this.folder = folder
    this.#root = root
  }

  /** Throws ConfigError where there is no such folder. A folder that is a run itself is a library of one. */
  static async at(folder: string): Promise<Library> {
    return new Library(folder, await requireFolder(folder))
  }

  async list(): Promise<RunsAnswer> {
    await this.#look()
    const runs = [...this.#runs.values()]
    for (let i = 0; i < runs.length; i += AT_ONCE) {
      await Promise.all(runs.slice(i, i + AT_ONCE).map((run) => run.glance(FRESH)))
    }
    const summaries = runs.map((run) => run.summary())
    return {
      folder: basename(resolve(this.folder)),
      runs: summaries.sort((a, b) => b.updated - a.updated || (a.id < b.id ? -1 : 1)),
      skipped: this.#skipped,
    }
  }

  /** A run by its id, open and up to date; undefined where there is none. */
  async open(id: string): Promise<RunReader | undefined> {
    if (!this.#runs.has(id)) await this.#look()
    const run = this.#runs.get(id)
    if (run === undefined) return undefined
    const now = performance.now()
    this.#open.delete(run)
    this.#open.set(run, now)
    for (const [old, used] of this.#open) {
      if (this.#open.size <= OPEN || now - used < IN_USE) break
      this.#open.delete(old)
      old.close()
    }
    await run.open()
    return run
  }

  /** Undefined where one of them is not there. */
  async compare(ids: readonly string[]): Promise<Comparison | undefined> {
    const runs: RunReader[] = []
    for (const id of ids) {
      const run = await this.open(id)
      if (run === undefined) return undefined
      runs.push(run)
    }
    const names = runs.map((run) => new Set(run.metrics.names))
    return {
      runs: runs.map((run) => run.summary()),
      differences: differences(runs.map((run) => run.config)),
      metrics: [...(names[0] ?? [])].filter((name) => names.every((each) => each.has(name))),
    }
  }

  #look(): Promise<void> {
    if (performance.now() - this.#looked < FRESH) return Promise.resolve()
    this.#looking ??= this.#find().finally(() => {
      this.#looking = undefined
      this.#looked = performance.now()
    })
    return this.#looking
  }

  async #find(): Promise<void> {
    const found = new Map<string, string>()
    this.#skipped = 0
    await this.#visit(this.#root, '', 0, found)
    for (const [id, run] of this.#runs) {
      if (found.get(id) === run.root) continue
      this.#runs.delete(id)
      this.#open.delete(run)
    }
    for (const [id, root] of found) {
      if (!this.#runs.has(id)) this.#runs.set(id, new RunReader(id, root))
    }
  }

  /** A run holds no runs. */
  async #visit(folder: string, id: string, depth: number, found: Map<string, string>): Promise<void> {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
    if (holdsRun(new Set(entries.map(({ name }) => name)))) {
      found.set(id === '' ? basename(this.#root) : id, folder)
      return
    }
    if (depth === DEPTH) return
    for (const entry of entries) {
      if (!entry.isDirectory() && !entry.isSymbolicLink()) continue
      const path = join(folder, entry.name)
      const within = id === '' ? entry.name : `${id}/${entry.name}`
      if (entry.isDirectory()) await this.#visit(path, within, depth + 1, found)
      else await this.#follow(path, within, depth + 1, found)
    }
  }

  async #follow(path: string, id: string, depth: number, found: Map<string, string>): Promise<void> {
    const isFolder = await stat(path).then(
      (stats) => stats.isDirectory(),
      () => false,
    )
    if (!isFolder) return
    if (await isWithin(this.#root, path)) await this.#visit(await realpath(path), id, depth, found)
    else this.#skipped++
  }
}
