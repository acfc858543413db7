import { describe, expect, it } from 'vitest'
import { gameNames, loadGame } from './index.js'

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
})
