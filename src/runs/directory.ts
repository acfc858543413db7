/** The folder of a run: where everything lies, and how it is made, appended to and taken back to a checkpoint. */
import { existsSync, rmdirSync, rmSync } from 'node:fs'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { CheckpointError, ConfigError, messageOf, SparringError } from '../core/errors.js'
import { makeFolders } from '../core/folders.js'
import { folderName } from './checkpoint.js'
import { type Disk, isFull, disk as realDisk, writing } from './disk.js'
import { cutLines, jsonLine, parseLine, readLines } from './lines.js'
import { takeLock } from './lock.js'

/** A line of metrics.jsonl: `step` counts the rounds done. */
export type MetricsLine = { step: number } & Record<string, number | null>

/** What a run that died before its config.json was written leaves: a folder with no more counts as empty. */
const beforeConfig = ['lock', 'checkpoints', 'config.json.partial', 'tinker']

export class RunDirectory {
  /** As the user would write it. */
  readonly path: string
  readonly disk: Disk
  readonly #unlock: () => void
  /** Whether the folder is here only because of this run. */
  readonly #own: boolean
  #unsynced: string[] = []

  private constructor(path: string, disk: Disk, unlock: () => void, own: boolean) {
    this.path = path
    this.disk = disk
    this.#unlock = unlock
    this.#own = own
  }

  /** Makes a new run's folder, or opens one that exists; throws ConfigError where it holds a run and `resume` is false. */
  static async open(path: string, resume: boolean, disk: Disk = realDisk): Promise<RunDirectory> {
    const own = !existsSync(path)
    const held = (await readdir(path).catch(() => [])).filter((name) => !beforeConfig.includes(name))
    if (resume) requireRun(path)
    else if (held.length > 0) {
      throw new ConfigError(`${path} is not empty.`, {
        hint: 'Continue the run in it with --resume, or name another folder with --run.',
      })
    }
    await makeFolder(path, join(path, 'checkpoints'))
    return RunDirectory.#take(path, disk, own)
  }

  /** Makes the folder of a new run of a recipe: runs/NAME-seedN, or the first of -2, -3, ... that is free. */
  static async openNew(recipe: string, seed: number, runs = 'runs'): Promise<RunDirectory> {
    const path = await newRunFolder(recipe, seed, runs)
    await makeFolder(path, join(path, 'checkpoints'))
    return RunDirectory.#take(path, realDisk, true)
  }

  static async #take(path: string, disk: Disk, own: boolean): Promise<RunDirectory> {
    const unlock = await orRefuse(path, async () => takeLock(join(path, 'lock'), path))
    const run = new RunDirectory(path, disk, unlock, own)
    if (!run.begun) run.#forgetServers()
    return run
  }

  get checkpoints(): string {
    return join(this.path, 'checkpoints')
  }

  get journal(): string {
    return join(this.path, 'journal.jsonl')
  }

  /** Path of a file or folder of the run. */
  at(...names: string[]): string {
    return join(this.path, ...names)
  }

  async writeConfig(config: unknown): Promise<void> {
    const text = `${JSON.stringify(config, null, 2)}\n`
    const aside = this.at('config.json.partial')
    await writing(this.path, 'config.json', async () => {
      await this.disk.write(aside, text)
      await this.disk.sync(aside)
      await this.disk.rename(aside, this.at('config.json'))
    })
  }

  /** Writes the rollouts of a round, one file for each role or yardstick; `syncRollouts` sees them onto the disk. */
  async writeRollouts(round: number, files: Record<string, object[]>): Promise<void> {
    if (Object.keys(files).length === 0) return
    const folder = this.at('rollouts', `round-${folderName(round)}`)
    await writing(this.path, `rollouts of round ${round}`, async () => {
      await this.disk.folder(folder)
      for (const [name, records] of Object.entries(files)) {
        await this.disk.write(join(folder, `${name}.jsonl`), records.map(jsonLine).join(''))
      }
    })
    this.#unsynced.push(folder)
  }

  /** Once a checkpoint, not once a round: rollouts behind the last checkpoint are made again anyway. */
  async syncRollouts(): Promise<void> {
    await writing(this.path, 'rollouts', async () => {
      for (const folder of this.#unsynced) await this.disk.sync(folder)
    })
    this.#unsynced = []
  }

  async appendMetrics(line: MetricsLine): Promise<void> {
    await writing(this.path, 'metrics.jsonl', () =>
      this.disk.append(this.at('metrics.jsonl'), jsonLine(line)),
    )
  }

  /** Says to readers that a process went on after a round; nothing is resumed from it. */
  async appendResume(round: number): Promise<void> {
    await writing(this.path, 'resumes.jsonl', () =>
      this.disk.append(this.at('resumes.jsonl'), jsonLine({ round })),
    )
  }

  /** The row that the field's viewers read. */
  async listCheckpoint(round: number, roles: string[]): Promise<void> {
    const name = folderName(round)
    const folders = Object.fromEntries(roles.map((role) => [role, `checkpoints/${name}/${role}`]))
    const row = { name, batch: round, state_path: `checkpoints/${name}`, policies: folders }
    await writing(this.path, 'checkpoints.jsonl', () =>
      this.disk.append(this.at('checkpoints.jsonl'), jsonLine(row)),
    )
  }

  /**
   * Throws CheckpointError where metrics.jsonl lacks the line of one of these rounds, or a line among them cannot be read:
   * alarms, and what is said of the start, would be told from the rest.
   */
  async requireMetrics(rounds: readonly number[]): Promise<void> {
    const { lines } = await readLines(this.at('metrics.jsonl'))
    const steps = lines.map(({ text }) => parseLine(text)?.step)
    const missing = rounds.find((round, i) => steps[i] !== round)
    if (missing === undefined) return
    throw new CheckpointError(
      `${this.path} cannot be resumed: metrics.jsonl does not hold the line of round ${missing} where it belongs.`,
      {
        hint: `Put the file back from a copy. The weights in ${this.at('checkpoints')} are not touched: a new run can start from them.`,
      },
    )
  }

  /** Takes metrics, rollouts and checkpoints back to what they were when `round` rounds were done; the metrics that are left. */
  async rewind(round: number): Promise<MetricsLine[]> {
    const upTo = (key: string) => (text: string) => Number(parseLine(text)?.[key] ?? 0) <= round
    return writing(this.path, 'the return to the last checkpoint', async () => {
      await cutLines(this.disk, this.at('checkpoints.jsonl'), upTo('batch'))
      await this.#removeAfter('checkpoints', '', round)
      await this.#removeAfter('rollouts', 'round-', round)
      const kept = await cutLines(this.disk, this.at('metrics.jsonl'), upTo('step'))
      return kept.flatMap((text) => (parseLine(text) as MetricsLine | undefined) ?? [])
    })
  }

  async #removeAfter(folder: string, prefix: string, round: number): Promise<void> {
    const names = await readdir(this.at(folder)).catch(() => [])
    for (const name of names) {
      if (Number(name.slice(prefix.length).replace('.partial', '')) > round)
        await this.disk.remove(this.at(folder, name))
    }
  }

  /** Whether anything is here that a run can be resumed, or a report written, from. */
  get begun(): boolean {
    return existsSync(this.at('config.json'))
  }

  /** The models that a run made on servers before it began are of no use to another one. */
  #forgetServers(): void {
    rmSync(this.at('tinker'), { recursive: true, force: true })
  }

  /** Lets another process write the run. Of one that never began, nothing is left. */
  close(): void {
    this.#unlock()
    if (this.begun) return
    this.#forgetServers()
    removeEmpty(this.checkpoints)
    if (this.#own) removeEmpty(this.path)
  }
}

/** Leaves a folder that holds something, or that will not go. */
function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {}
}

async function makeFolder(run: string, folder: string): Promise<void> {
  await orRefuse(run, () => makeFolders(folder))
}

/** Of a run that may not have begun: throws CheckpointError where the disk is full, ConfigError where the path will not do. */
async function orRefuse<T>(run: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (SparringError.isInstance(cause)) throw cause
    if (isFull(cause)) {
      throw new CheckpointError(`${run} could not be made: the disk is full.`, {
        hint: 'Free some space, or name a folder on another disk with --run.',
        cause,
      })
    }
    throw new ConfigError(`${run} cannot be the folder of a run: ${messageOf(cause)}.`, {
      hint: 'Name a folder that can be made and written with --run.',
      cause,
    })
  }
}

/** Throws ConfigError where a folder holds no run. */
export function requireRun(path: string): void {
  if (existsSync(join(path, 'config.json'))) return
  throw new ConfigError(`${path} holds no run to resume.`, {
    hint: 'Leave --resume out to start one, or name the folder of a run with --run.',
  })
}

/** Folder for a new run of a recipe: runs/NAME-seedN, or the first of -2, -3, ... that is free. Made at once, so that it is ours. */
export async function newRunFolder(recipe: string, seed: number, runs = 'runs'): Promise<string> {
  const first = join(runs, `${recipe}-seed${seed}`)
  await makeFolder(first, runs)
  for (let k = 1; ; k++) {
    const path = k === 1 ? first : `${first}-${k}`
    if (await makeNew(path)) return path
  }
}

async function makeNew(path: string): Promise<boolean> {
  try {
    await mkdir(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    await makeFolder(path, path)
    return true
  }
}

/** Newest folder that `newRunFolder` made for a recipe, or undefined. */
export async function latestRunFolder(
  recipe: string,
  seed: number,
  runs = 'runs',
): Promise<string | undefined> {
  const first = `${recipe}-seed${seed}`
  const suffix = (name: string) => (name === first ? 1 : Number(name.slice(first.length + 1)))
  const names = await readdir(runs).catch(() => [])
  const found = names.filter((name) => name === first || (name.startsWith(`${first}-`) && suffix(name) > 1))
  const newest = found.sort((a, b) => suffix(a) - suffix(b)).at(-1)
  return newest === undefined ? undefined : join(runs, newest)
}
