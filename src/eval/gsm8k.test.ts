import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../test/support/folders.js'
import { answerTable, dataFolder, hasGsm8k, SAMPLES } from '../../test/support/gsm8k.js'
import { scriptedAnswerer } from '../../test/support/scripted-answerer.js'
import { createGrader } from '../grader/index.js'
import { loadBenchmark } from './benchmarks/load.js'
import { answerJudge } from './judge.js'
import { measure } from './measure.js'
import { protocolFor, protocolOf } from './protocols.js'

describe.skipIf(!hasGsm8k)(
  `all of gsm8k, six samples a problem (skipped where ${dataFolder} is absent)`,
  () => {
    it('is measured exactly as the table of answers implies, in less than a minute', async () => {
      const table = answerTable()
      const began = performance.now()
      const benchmark = await loadBenchmark('gsm8k', { data: dataFolder, heldoutProblems: async () => [] })
      const protocol = protocolOf('pasodoble', (problem) => ({
        messages: [{ role: 'user', content: problem }],
      }))
      expect(protocol.samples).toBe(SAMPLES)
      const settings = {
        benchmark: { name: 'gsm8k', kind: 'maths' as const, problems: benchmark.problems.length },
        data: benchmark.data,
        model: { name: 'table' },
        protocol: protocolFor(protocol, new Set(['maths'])),
      }
      const judge = answerJudge(createGrader({ extract: protocol.grader.extract }))
      const out = join(temporaryFolder(), 'gsm8k.json')
      const answerer = scriptedAnswerer((put) => table.next(put))
      const { report, problems } = await measure(
        { benchmark, settings, version: '1', out },
        { answerer, judge },
      )
      const seconds = (performance.now() - began) / 1000
      await judge.close()
      expect(problems.map(({ right }) => right)).toEqual(table.right)
      expect(report).toMatchObject({
        n: 1319,
        samples: SAMPLES,
        unansweredFrac: table.unanswered,
        truncatedFrac: 0,
      })
      expect(report.accuracy).toBeCloseTo(table.accuracy, 12)
      const [one, two, four] = report.passAtK
      expect([one!.k, two!.k, four!.k]).toEqual([1, 2, 4])
      // pass@2 = 1 - C(6-c, 2) / C(6, 2), pass@4 = 1 - C(6-c, 4) / C(6, 4)
      const choose = (n: number, k: number): number =>
        k === 0 ? 1 : n < k ? 0 : (choose(n - 1, k - 1) * n) / k
      const mean = (k: number) => {
        const each = table.right.map((c) => 1 - choose(SAMPLES - c, k) / choose(SAMPLES, k))
        return each.reduce((sum, value) => sum + value, 0) / each.length
      }
      expect(two!.accuracy).toBeCloseTo(mean(2), 12)
      expect(four!.accuracy).toBeCloseTo(mean(4), 12)
      expect(seconds).toBeLessThan(60)
      console.log(`${1319 * SAMPLES} samples prepared, graded and reported in ${seconds.toFixed(1)} s`)
    })
  },
)
