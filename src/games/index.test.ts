import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../test/support/folders.js'
import { gameNames, isModule, loadGame } from './index.js'

describe('loadGame', () => {
  it('loads every game under its own name', async () => {
    expect(gameNames).toContain('pasodoble')
    for (const name of gameNames) expect((await loadGame(name)).name).toBe(name)
  })

  it('offers the nearest name', async () => {
    await expect(loadGame('pasodobel')).rejects.toMatchObject({
      code: 'config',
      hint: 'Did you mean pasodoble?',
    })
    await expect(loadGame('constructor')).rejects.toMatchObject({ code: 'config' })
  })

  it('loads the default export of a module', async () => {
    const module = (text: string) => {
      const path = join(temporaryFolder(), 'mine.mjs')
      writeFileSync(path, text)
      return path
    }
    const mine = `{ name: 'mine', roles: [], config: { safeParse() {} }, setup() {}, round() {} }`
    expect((await loadGame(module(`export default ${mine}`))).name).toBe('mine')
    await expect(loadGame(module(`export const game = ${mine}`))).rejects.toThrow(/does not export a game/)
    await expect(loadGame(module('export default 1 +'))).rejects.toMatchObject({ code: 'config' })
    await expect(loadGame('/nowhere/mine.mjs')).rejects.toThrow(
      /^The game \/nowhere\/mine.mjs cannot be loaded/,
    )
    expect(['pasodoble', 'r-zero', './mine.mjs', 'mine.js', 'games/mine'].map(isModule)).toEqual([
      false,
      false,
      true,
      true,
      true,
    ])
  })
})
