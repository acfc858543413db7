import { describe, expect, it } from 'vitest'
import { ArrivalProgress } from './pull-progress.js'

function progress(isTTY: boolean, json = false) {
  let now = 0
  const written: string[] = []
  const stream = { isTTY, columns: 60, write: (text: string) => written.push(text) }
  const arrival = new ArrivalProgress(stream, json, () => now)
  const at = (milliseconds: number, arrived: number) => {
    now = milliseconds
    arrival.update({ file: 'model.safetensors', bytes: 2 ** 20 + arrived, total: 11 * 2 ** 20, arrived })
  }
  return { at, arrival, written }
}

describe('progress of a pull', () => {
  it('tells bytes, rate and the time that is left, every ten seconds', () => {
    const { at, written } = progress(false)
    at(0, 0)
    for (let second = 1; second <= 20; second++) at(second * 1000, (second * 2 ** 20) / 4)
    expect(written).toEqual([
      'model.safetensors  3.5 MiB of 11.0 MiB  256 KiB/s  30 s left\n',
      'model.safetensors  6.0 MiB of 11.0 MiB  256 KiB/s  20 s left\n',
    ])
  })

  it('is one line on a terminal, which makes room for a sentence and goes', () => {
    const { at, arrival, written } = progress(true)
    at(50, 0)
    at(100, 0)
    at(150, 0)
    arrival.note('the connection broke')
    at(1000, 2 ** 20)
    arrival.close()
    arrival.close()
    expect(written).toEqual([
      '\r\x1b[Kmodel.safetensors  1.0 MiB of 11.0 MiB',
      '\r\x1b[K',
      'the connection broke\n',
      '\r\x1b[Kmodel.safetensors  2.0 MiB of 11.0 MiB  1.0 MiB/s  9.0 s le',
      '\r\x1b[K',
    ])
  })

  it('is events where those are asked for', () => {
    const { at, written } = progress(false, true)
    at(1000, 0)
    at(1500, 2 ** 19)
    at(2000, 2 ** 20)
    expect(written.map((line) => JSON.parse(line))).toEqual([
      {
        event: 'progress',
        file: 'model.safetensors',
        bytes: 2 ** 20,
        total: 11 * 2 ** 20,
        seconds_left: null,
      },
      { event: 'progress', file: 'model.safetensors', bytes: 2 ** 21, total: 11 * 2 ** 20, seconds_left: 18 },
    ])
  })
})
