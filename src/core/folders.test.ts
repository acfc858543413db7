import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../test/support/folders.js'
import { makeFolders } from './folders.js'

describe('making folders', () => {
  it('makes what is missing, and says where it began', async () => {
    const root = temporaryFolder()
    mkdirSync(join(root, 'a'))
    expect(await makeFolders(join(root, 'a/b/c/d'))).toBe(join(root, 'a/b'))
    expect(await makeFolders(join(root, 'a/b/c/d'))).toBeUndefined()
    expect(existsSync(join(root, 'a/b/c/d'))).toBe(true)
  })

  it('is done once by several at the same time', async () => {
    const path = join(temporaryFolder(), 'a/b/c')
    await Promise.all(Array.from({ length: 8 }, () => makeFolders(path)))
    expect(existsSync(path)).toBe(true)
  })

  it('rejects where a file stands in the way', async () => {
    const file = join(temporaryFolder(), 'file')
    writeFileSync(file, '')
    await expect(makeFolders(file)).rejects.toMatchObject({ code: 'EEXIST' })
    await expect(makeFolders(join(file, 'a/b'))).rejects.toMatchObject({ code: 'ENOTDIR' })
  })

  it.skipIf(!existsSync('/proc/self'))('rejects where a file system takes no folders', async () => {
    for (const path of ['/proc/none', '/proc/none/at/all'])
      await expect(makeFolders(path)).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
