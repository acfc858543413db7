/** Weights that the adapters of several policies stand on: read once, never changed, dropped with their last user. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Parameters } from './model/weights.js'

export class SharedBases {
  readonly #bases = new Map<string, Promise<Parameters>>()

  /** The weights of a folder as it is now; `read` is called where no policy has them already. */
  async use(folder: string, read: () => Promise<Parameters>): Promise<Parameters> {
    const key = await signature(folder)
    const known = this.#bases.get(key) ?? read()
    this.#bases.set(key, known)
    try {
      return await known
    } catch (error) {
      this.#bases.delete(key)
      throw error
    }
  }

  drop(base: Parameters): void {
    for (const [key, known] of this.#bases)
      void known.then((parameters) => {
        if (parameters === base) this.#bases.delete(key)
      })
    for (const parameter of base.values()) parameter.release()
  }
}

/** The folder with size and time of its weight files: a folder that was written anew is another one. */
async function signature(folder: string): Promise<string> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.safetensors')).sort()
  const stats = await Promise.all(files.map((name) => stat(join(folder, name), { bigint: true })))
  return JSON.stringify([folder, ...stats.map(({ size, mtimeNs, ino }) => `${size} ${mtimeNs} ${ino}`)])
}
