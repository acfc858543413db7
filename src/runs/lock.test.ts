import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../test/support/folders.js'
import { takeLock } from './lock.js'

const file = () => join(temporaryFolder(), 'lock')
const written = (path: string, owner: object) =>
  writeFileSync(path, JSON.stringify({ host: hostname(), ...owner }))

describe('the lock of a run', () => {
  it('keeps a second process out until it is released', () => {
    const path = file()
    const release = takeLock(path, 'runs/x')
    expect(() => takeLock(path, 'runs/x')).toThrow(`runs/x is in use by process ${process.pid}.`)
    release()
    expect(existsSync(path)).toBe(false)
    takeLock(path, 'runs/x')()
  })

  it('is taken over from a process that died', async () => {
    const path = file()
    const child = spawn(process.execPath, ['-e', ''])
    await once(child, 'close')
    written(path, { pid: child.pid, started: '' })
    const release = takeLock(path, 'runs/x')
    expect(JSON.parse(readFileSync(path, 'utf8')).pid).toBe(process.pid)
    release()
  })

  it('is taken over where the process id went to another process', () => {
    const path = file()
    written(path, { pid: process.pid, started: 'long ago' })
    takeLock(path, 'runs/x')()
  })

  it('is taken over where it was only half written', () => {
    const path = file()
    writeFileSync(path, '{"pid":')
    takeLock(path, 'runs/x')()
  })

  it('is respected where the process is on another machine', () => {
    const path = file()
    written(path, { pid: 1, started: '', host: 'elsewhere' })
    expect(() => takeLock(path, 'runs/x')).toThrow('runs/x is in use by process 1 on elsewhere.')
  })

  it('is not released once it belongs to another', () => {
    const path = file()
    const release = takeLock(path, 'runs/x')
    written(path, { pid: 1, started: '', host: 'elsewhere' })
    release()
    expect(existsSync(path)).toBe(true)
  })
})
