/** The page's own files, read once: no address of a request ever becomes a path. */
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'

export interface PageFile {
  bytes: Uint8Array<ArrayBuffer>
  type: string
}

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
}

/** Files of a folder by name, those of other kinds left out. */
export function readPageFiles(folder: string): Map<string, PageFile> {
  const names = readdirSync(folder).filter((name) => extname(name) in types)
  return new Map(
    names.map((name) => {
      const bytes = new Uint8Array(readFileSync(join(folder, name)))
      return [name, { bytes, type: types[extname(name)]! }]
    }),
  )
}
