/** Disks for tests that kill a run: real files. */
import { appendFileSync } from 'node:fs'
import { appendFile, rename } from 'node:fs/promises'
import { type Disk, disk } from '../../src/runs/disk.js'

/** Waits for nothing: what a killed process wrote is there for the next one all the same. */
export const quickDisk: Disk = {
  ...disk,
  append: (path, text) => appendFile(path, text),
  rename: (from, to) => rename(from, to),
  sync: async () => {},
}

/** Counts everything that an engine and a disk do, and dies at the chosen one; appended text is then half written. */
export function dyingAt(step: number): { hook: () => void; disk: Disk; count: () => number } {
  let count = 0
  const tick = () => {
    if (++count === step) throw new Error('killed')
  }
  const dying = Object.fromEntries(
    Object.entries(quickDisk).map(([name, work]) => [
      name,
      async (...args: [string, string]) => {
        if (name === 'append' && count + 1 === step)
          appendFileSync(args[0], args[1].slice(0, args[1].length / 2))
        tick()
        return (work as (...args: string[]) => Promise<void>)(...args)
      },
    ]),
  ) as unknown as Disk
  return { hook: tick, disk: dying, count: () => count }
}
