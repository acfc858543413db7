import { createHash } from 'node:crypto'
import { open, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Places of a weights file that are read, and bytes at each: training changes every weight, so few tell all. */
const PLACES = 64
const BYTES = 4096

/**
 * Sum of what makes a model in a folder: configuration, tokenizer, and size and samples of its weights. The same for a
 * copy of the folder, another after any training; reads a few megabytes of however many. Empty folders have one too.
 */
export async function weightsSum(folder: string): Promise<string> {
  const names = (await readdir(folder)).sort()
  const hash = createHash('sha256')
  for (const name of names.filter((each) => /\.(json|jinja)$/.test(each) && each !== 'policy.json')) {
    hash.update(`${name}\n`).update(await readFile(join(folder, name)))
  }
  for (const name of names.filter((each) => each.endsWith('.safetensors') && !each.startsWith('optimizer'))) {
    hash.update(`${name}\n`)
    await addSamples(hash, join(folder, name))
  }
  return hash.digest('hex')
}

async function addSamples(hash: ReturnType<typeof createHash>, path: string): Promise<void> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    hash.update(`${size}\n`)
    const buffer = Buffer.alloc(BYTES)
    for (let i = 0; i < PLACES; i++) {
      const at = Math.floor((Math.max(0, size - BYTES) * i) / (PLACES - 1))
      const { bytesRead } = await file.read(buffer, 0, BYTES, at)
      hash.update(buffer.subarray(0, bytesRead))
    }
  } finally {
    await file.close()
  }
}
