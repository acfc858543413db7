import { describe, expect, it } from 'vitest'
import { SampleProgress } from './samples.js'

function play(isTTY: boolean, steps: [ms: number, done: number][]) {
  let written = ''
  let now = 0
  const stream = { isTTY, columns: 40, write: (text: string) => (written += text) }
  const progress = new SampleProgress(stream, 'gsm8k gar', () => now)
  for (const [at, done] of steps) {
    now = at
    progress.update(done, 1000)
  }
  progress.close()
  return written
}

describe('the progress of an evaluation', () => {
  it('is a line every ten seconds, with the rate of this sitting', () => {
    const steps: [number, number][] = Array.from({ length: 251 }, (_, i) => [i * 100, 500 + i])
    expect(play(false, steps).split('\n')).toEqual([
      'gsm8k gar  600/1000  10/s  40 s left',
      'gsm8k gar  700/1000  10/s  30 s left',
      '',
    ])
    expect(
      play(false, [
        [0, 0],
        [9000, 900],
      ]),
    ).toBe('')
  })

  it('makes room for a sentence', () => {
    let written = ''
    const write = (text: string) => {
      written += text
    }
    const progress = new SampleProgress({ isTTY: true, write }, 'x', () => 0)
    progress.note('before')
    progress.update(0, 1)
    progress.note('within')
    expect(written).toBe('before\n\r\x1b[Kx  0/1\r\x1b[Kwithin\n')
  })

  it('is one line on a terminal, never wider than it, and gone at the end', () => {
    const written = play(true, [
      [0, 0],
      [50, 10],
      [1000, 20],
    ])
    expect(written).toBe('\r\x1b[Kgsm8k gar  0/1000\r\x1b[Kgsm8k gar  20/1000  20/s  49 s left\r\x1b[K')
  })
})
