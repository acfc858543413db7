import { DataError } from '../core/errors.js'
import type { CodeGrader } from '../grader/code/index.js'
import type { Grader } from '../grader/grader.js'
import type { BenchmarkProblem } from './benchmarks/problems.js'
import type { Same } from './majority.js'

export interface Judgement {
  right: boolean
  extracted: string | null
  reason: string
}

/** Says of one answer to one problem whether it is right, whatever kind of problem it is. */
export interface Judge {
  judge(problem: BenchmarkProblem, text: string, signal?: AbortSignal): Promise<Judgement>
  /** Whether two answers are the same; absent where answers are programs. */
  same?: Same
  close(): Promise<void>
}

/** By the grader of answers. */
export function answerJudge(grader: Grader): Judge {
  return {
    async judge({ answer, choices }, text) {
      const [verdict] = await grader.grade([{ gold: answer, prediction: text, ...(choices && { choices }) }])
      const { equal, extracted, reason } = verdict!
      return { right: equal, extracted, reason }
    },
    async same(a, b) {
      const [verdict] = await grader.grade([{ gold: a, prediction: b, kind: 'answer' }])
      return verdict!.equal
    },
    close: () => grader.close(),
  }
}

/** By running the program that the answer holds against the problem's tests. */
export function codeJudge(grader: CodeGrader): Judge {
  return {
    async judge({ id, task }, text, signal) {
      if (task === undefined)
        throw new DataError(`The problem ${id} has no tests.`, { hint: 'Fetch the data again.' })
      const [verdict] = await grader.grade([{ task: await task(), response: text }], signal)
      const { passed, extracted, reason } = verdict!
      return { right: passed, extracted, reason }
    },
    close: () => grader.close(),
  }
}
