import type { GradeSettings } from '../grader/grade.js'

/**
 * How games and their yardsticks grade: the last box alone, as the papers do; and a numeral is asked for where the answer
 * is one, lest a model answers with the question.
 */
export const gameGrading = { extract: ['last_box'], unevaluated: 'refuse' } satisfies GradeSettings
