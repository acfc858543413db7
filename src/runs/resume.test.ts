import { spawn } from 'node:child_process'
import { appendFileSync, cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { dyingAt, quickDisk } from '../../test/support/disks.js'
import { type FakeRunOptions, fakeRun } from '../../test/support/fake-run.js'
import { filesOfRun, temporaryFolder } from '../../test/support/folders.js'
import { type Disk, disk } from './disk.js'
import type { RunEvent } from './events.js'

const script = fileURLToPath(new URL('../../test/support/fake-run.js', import.meta.url))

async function undisturbed(options: FakeRunOptions = {}): Promise<Record<string, string>> {
  const folder = join(temporaryFolder(), 'run')
  await fakeRun(folder, { disk: quickDisk, ...options })
  return filesOfRun(folder)
}

describe('a run that dies and is resumed', () => {
  it('writes what an undisturbed run writes, wherever it dies', async () => {
    const options = { rounds: 3, set: ['checkpoint.every=2', 'anchors.every=2', 'settings.questions=1'] }
    const expected = await undisturbed(options)
    const counter = dyingAt(Number.POSITIVE_INFINITY)
    await fakeRun(join(temporaryFolder(), 'run'), { ...options, ...counter })
    expect(counter.count()).toBeGreaterThan(80)
    const steps = Array.from({ length: counter.count() }, (_, i) => i + 1)
    for (let from = 0; from < steps.length; from += 8) {
      await Promise.all(steps.slice(from, from + 8).map(dieAndResume))
    }

    async function dieAndResume(step: number) {
      const folder = join(temporaryFolder(), 'run')
      await expect(fakeRun(folder, { ...options, ...dyingAt(step) }), `step ${step}`).rejects.toThrow(
        'killed',
      )
      const begun = existsSync(join(folder, 'config.json'))
      await fakeRun(folder, { ...options, resume: begun, disk: quickDisk })
      expect(filesOfRun(folder), `step ${step}`).toEqual(expected)
    }
  }, 240_000)

  it('may be killed while it resumes', async () => {
    const expected = await undisturbed({ rounds: 8 })
    const killed = join(temporaryFolder(), 'run')
    await expect(fakeRun(killed, { rounds: 8, ...dyingAt(120) })).rejects.toThrow('killed')
    for (let step = 1; step <= 12; step++) {
      const folder = join(temporaryFolder(), 'run')
      cpSync(killed, folder, { recursive: true })
      await fakeRun(folder, { rounds: 8, resume: true, ...dyingAt(step) }).catch(() => {})
      await fakeRun(folder, { rounds: 8, resume: true, disk: quickDisk })
      expect(filesOfRun(folder), `step ${step}`).toEqual(expected)
    }
  })

  it('goes on to the same numbers after SIGKILL', async () => {
    const expected = await undisturbed()
    const folder = join(temporaryFolder(), 'run')
    const child = spawn(process.execPath, [script, folder, 'settings.pause=20'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await new Promise<void>((resolve) => {
      child.stdout.on('data', (data) => {
        if (String(data).includes('round 10')) child.kill('SIGKILL')
      })
      child.on('close', () => resolve())
    })
    expect(child.signalCode).toBe('SIGKILL')
    expect(existsSync(join(folder, 'lock'))).toBe(true)
    await fakeRun(folder, { resume: true })
    expect(filesOfRun(folder)).toEqual(expected)
  })

  it('ends after the current round when asked, and goes on to the same numbers', async () => {
    const folder = join(temporaryFolder(), 'run')
    let rounds = 0
    const emit = (event: RunEvent) => {
      if (event.event === 'round') rounds = event.round
    }
    const { done } = await fakeRun(folder, { emit, stopping: () => rounds >= 7 })
    expect(done).toMatchObject({ rounds: 7, stopped: true })
    const resumed = await fakeRun(folder, { resume: true })
    expect(resumed.done).toMatchObject({ rounds: 20 })
    expect(resumed.done).not.toHaveProperty('stopped')
    const { 'metrics.jsonl': metrics, 'checkpoints/000020/solver/weights.json': weights } = filesOfRun(folder)
    const expected = await undisturbed()
    expect(metrics).toBe(expected['metrics.jsonl'])
    expect(weights).toBe(expected['checkpoints/000020/solver/weights.json'])
  })

  it('has nothing left to do when it is complete', async () => {
    const folder = join(temporaryFolder(), 'run')
    const first = await fakeRun(folder)
    const files = filesOfRun(folder)
    const again = await fakeRun(folder, { resume: true })
    expect(again.done.heldout).toEqual(first.done.heldout)
    expect(filesOfRun(folder)).toEqual(files)
  })
})

describe('a damaged run', () => {
  async function damaged(damage: (folder: string) => void) {
    const folder = join(temporaryFolder(), 'run')
    await fakeRun(folder, { rounds: 11 })
    damage(folder)
    const events: RunEvent[] = []
    await fakeRun(folder, { rounds: 11, resume: true, emit: (event) => events.push(event) })
    const resume = events.find((event) => event.event === 'resume')
    return { files: filesOfRun(folder), resume, expected: await undisturbed({ rounds: 11 }) }
  }

  it('falls back to the checkpoint before a damaged one', async () => {
    const { files, resume, expected } = await damaged((folder) => {
      const path = join(folder, 'checkpoints/000011/solver/weights.json')
      writeFileSync(
        path,
        readFileSync(path, 'utf8').replace(/\d/, (digit) => String((Number(digit) + 1) % 10)),
      )
    })
    expect(resume).toMatchObject({ round: 8, note: expect.stringContaining('000011') })
    expect(files).toEqual(expected)
  })

  it('falls back to the checkpoint before a corrupt journal record', async () => {
    const { files, resume, expected } = await damaged((folder) => {
      const path = join(folder, 'journal.jsonl')
      writeFileSync(
        path,
        readFileSync(path, 'utf8').replace('"kind":"round","round":9', '"kind":"round","round":7'),
      )
    })
    expect(resume).toMatchObject({ round: 8, note: expect.stringContaining('journal.jsonl is corrupt') })
    expect(files).toEqual(expected)
  })

  it('says what is lost when no checkpoint can be trusted', async () => {
    const folder = join(temporaryFolder(), 'run')
    await fakeRun(folder, { rounds: 2 })
    rmSync(join(folder, 'checkpoints/000000'), { recursive: true })
    rmSync(join(folder, 'checkpoints/000002/state.json'))
    await expect(fakeRun(folder, { rounds: 2, resume: true })).rejects.toMatchObject({
      code: 'checkpoint',
      message: expect.stringContaining('cannot be resumed'),
    })
  })

  it.each([
    ['empty', () => ''],
    ['gone', undefined],
    ['cut after its first round', (text: string) => `${text.split('\n')[0]}\n`],
  ])('is left as it is where its journal is %s', async (_, change) => {
    const folder = join(temporaryFolder(), 'run')
    await fakeRun(folder, { rounds: 2 })
    const path = join(folder, 'journal.jsonl')
    const changed = change?.(readFileSync(path, 'utf8'))
    if (changed === undefined) rmSync(path)
    else writeFileSync(path, changed)
    const files = filesOfRun(folder)
    await expect(fakeRun(folder, { rounds: 2, resume: true })).rejects.toMatchObject({
      code: 'checkpoint',
      message: expect.stringContaining('cannot be resumed'),
    })
    expect(filesOfRun(folder)).toEqual(files)
  })

  it.each([
    ['gone', () => ''],
    ['cut within a line', (text: string) => text.slice(0, -20)],
    ['without its second line', (text: string) => text.replace(/(\n).*\n/, '$1')],
    ['with another line in the place of its second', (text: string) => text.replace(/\n.*\n/, '\ngarbage\n')],
  ])('is left as it is where its metrics are %s', async (_, change) => {
    const folder = join(temporaryFolder(), 'run')
    await fakeRun(folder, { rounds: 2 })
    const path = join(folder, 'metrics.jsonl')
    writeFileSync(path, change(readFileSync(path, 'utf8')))
    const files = filesOfRun(folder)
    await expect(fakeRun(folder, { rounds: 2, resume: true })).rejects.toMatchObject({
      code: 'checkpoint',
      message: expect.stringMatching(/cannot be resumed: metrics\.jsonl does not hold the line of round \d/),
    })
    expect(filesOfRun(folder)).toEqual(files)
  })
})

describe('a full disk', () => {
  it('ends the run with one sentence and leaves the last checkpoint intact', async () => {
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    const folder = join(temporaryFolder(), 'run')
    let written = 0
    const small: Disk = {
      ...disk,
      append: async (path, text) => {
        written += text.length
        if (written < 9000) return disk.append(path, text)
        appendFileSync(path, text.slice(0, 10))
        throw full
      },
    }
    const failure = await fakeRun(folder, { disk: small }).catch((error) => error)
    expect(failure).toMatchObject({
      code: 'checkpoint',
      message: expect.stringMatching(/^\S+run: \w+\.jsonl could not be written: the disk is full\.$/),
      hint: expect.stringContaining('--resume'),
    })
    await fakeRun(folder, { resume: true })
    expect(filesOfRun(folder)).toEqual(await undisturbed())
  })

  it('is told apart when the engine meets it in a checkpoint', async () => {
    const folder = join(temporaryFolder(), 'run')
    let saves = 0
    const hook = (what: string) => {
      if (what === 'save optimizer' && ++saves === 5)
        throw Object.assign(new Error('write'), { code: 'ENOSPC' })
    }
    await expect(fakeRun(folder, { hook })).rejects.toThrow(
      /checkpoint 000008 could not be written: the disk is full/,
    )
    expect(existsSync(join(folder, 'checkpoints/000008.partial'))).toBe(false)
    await fakeRun(folder, { resume: true })
    expect(filesOfRun(folder)).toEqual(await undisturbed())
  })
})
