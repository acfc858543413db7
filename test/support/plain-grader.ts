/** The grader of a run, as `parts` makes it, without its processes. */
import { judge } from '../../src/grader/grade.js'
import type { Grader } from '../../src/grader/grader.js'

export const plainGrader: Grader = {
  grade: async (cases) =>
    cases.map((each) => ({ ...judge(each, { extract: ['last_box'], unevaluated: 'refuse' }), ms: 0 })),
  close: async () => {},
}
