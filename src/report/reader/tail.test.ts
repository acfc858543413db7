import { appendFileSync, realpathSync, renameSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../test/support/folders.js'
import { LONGEST_LINE } from './lines.js'
import { Tail } from './tail.js'

function followed() {
  const folder = realpathSync(temporaryFolder())
  const file = join(folder, 'metrics.jsonl')
  const tail = new Tail(folder, 'metrics.jsonl')
  let records: Record<string, unknown>[] = []
  const follower = {
    add: (record: Record<string, unknown>) => void records.push(record),
    clear: () => {
      records = []
    },
  }
  return { folder, file, tail, read: () => tail.read(follower), records: () => records }
}

const line = (k: number) => `${JSON.stringify({ k, text: 'ä'.repeat(k % 7) })}\n`

describe('Tail', () => {
  it('gives whole records only, wherever the writer was when it was looked at', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(60), { maxLength: 12 }), async (cuts) => {
        const { file, read, records, tail } = followed()
        const all = Buffer.from(Array.from({ length: 12 }, (_, k) => line(k)).join(''))
        let at = 0
        for (const length of [...cuts, all.length]) {
          appendFileSync(file, all.subarray(at, at + length))
          at = Math.min(all.length, at + length)
          await read()
          const whole = all.subarray(0, at).toString('latin1').split('\n').length - 1
          expect(records().map(({ k }) => k)).toEqual(Array.from({ length: whole }, (_, k) => k))
        }
        expect(tail.damaged).toBe(0)
      }),
      { numRuns: 30 },
    )
  })

  it('says whether anything was new', async () => {
    const { file, read } = followed()
    expect(await read()).toBe(false)
    appendFileSync(file, line(0))
    expect([await read(), await read()]).toEqual([true, false])
    appendFileSync(file, '{"half":')
    expect(await read()).toBe(false)
  })

  it('begins anew where the file was cut and written on beyond its old end', async () => {
    const { file, read, records } = followed()
    writeFileSync(file, [0, 1, 2].map(line).join(''))
    await read()
    truncateSync(file, line(0).length)
    appendFileSync(file, [5, 6, 7, 8].map(line).join(''))
    expect(await read()).toBe(true)
    expect(records().map(({ k }) => k)).toEqual([0, 5, 6, 7, 8])
  })

  it('begins anew where another file has taken its place, and where it is gone', async () => {
    const { folder, file, read, records } = followed()
    writeFileSync(file, [0, 1].map(line).join(''))
    await read()
    writeFileSync(join(folder, 'aside'), [0, 1, 2].map(line).join(''))
    renameSync(join(folder, 'aside'), file)
    await read()
    expect(records().map(({ k }) => k)).toEqual([0, 1, 2])
    renameSync(file, join(folder, 'aside'))
    expect(await read()).toBe(true)
    expect(records()).toEqual([])
  })

  it('counts damaged lines and goes on behind them', async () => {
    const { file, read, records, tail } = followed()
    const damaged = ['{"k":', '[1]', '7', 'null', '', '\0\xff']
    writeFileSync(file, `${line(0)}${damaged.join('\n')}\n${'x'.repeat(LONGEST_LINE + 1)}\n${line(1)}`)
    await read()
    expect(records().map(({ k }) => k)).toEqual([0, 1])
    expect(tail.damaged).toBe(damaged.length + 1)
  })

  it('reads lines of megabytes', async () => {
    const { file, read, records } = followed()
    writeFileSync(file, `${JSON.stringify({ k: 0, text: 'y'.repeat(3 << 20) })}\n${line(1)}`)
    await read()
    expect(records().map(({ k }) => k)).toEqual([0, 1])
  })

  it('does not follow a link', async () => {
    const { folder, file, read } = followed()
    writeFileSync(join(folder, 'elsewhere'), line(0))
    symlinkSync(join(folder, 'elsewhere'), file)
    expect(await read()).toBe(false)
  })
})
