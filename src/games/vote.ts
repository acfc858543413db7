/** Majority votes over answers: a label where there is none. */
import { lastBoxed } from '../grader/extract/boxed.js'
import type { Grader } from '../grader/grader.js'

/** The answers to one question that vote. */
export interface Ballot {
  question: string
  /** Free texts; each votes for what it boxes last. */
  texts: readonly string[]
}

export interface Vote {
  /** The answer of the most votes, of the first where several have as many; null where nobody votes. */
  answer: string | null
  /** Votes for it, 0 .. votes. */
  count: number
  /** Texts that vote. */
  votes: number
  /** Whether each text votes for it. */
  agrees: boolean[]
}

/**
 * Counts each ballot. A text votes for the content of its last box. An empty box is no vote, nor is a box that repeats
 * the question: a policy could agree with itself on that without solving anything. Answers that the grader holds equal
 * count together: those of the most votes are compared first, each with the answers before it, and a refused comparison
 * (3+4 for 7) keeps them apart.
 */
export async function countVotes(grader: Grader, ballots: readonly Ballot[]): Promise<Vote[]> {
  const all = ballots.map(({ question, texts }) => texts.map((text) => boxOf(text, question)))
  const distinct = all.map(byCount)
  const cases = distinct.flatMap((answers) =>
    answers.flatMap((gold, i) =>
      answers.slice(i + 1).map((prediction) => ({ gold, prediction, kind: 'answer' as const })),
    ),
  )
  const verdicts = cases.length === 0 ? [] : await grader.grade(cases)
  let at = 0
  return distinct.map((answers, b) => {
    const equal = answers.map((_, i) => answers.slice(i + 1).map(() => verdicts[at++]!.equal))
    return tally(all[b]!, answers, (i, j) => equal[i]![j - i - 1]!)
  })
}

function boxOf(text: string, question: string): string | null {
  const box = lastBoxed(text)?.trim() ?? ''
  return box === '' || box === question.trim() ? null : box
}

/** Different answers, those of more votes first, else in the order they were given. */
function byCount(answers: readonly (string | null)[]): string[] {
  const counts = new Map<string, number>()
  for (const answer of answers) if (answer !== null) counts.set(answer, (counts.get(answer) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1]).map(([answer]) => answer)
}

/** `equal(i, j)`, i < j, says whether two of the different answers are the same. */
function tally(
  answers: readonly (string | null)[],
  distinct: readonly string[],
  equal: (i: number, j: number) => boolean,
): Vote {
  const leaders: number[] = []
  const leaderOf = new Map<string, number>()
  distinct.forEach((answer, j) => {
    const leader = leaders.find((i) => equal(i, j)) ?? j
    if (leader === j) leaders.push(j)
    leaderOf.set(answer, leader)
  })
  const given = answers.map((answer) => (answer === null ? undefined : leaderOf.get(answer)))
  const countOf = (leader: number) => given.filter((each) => each === leader).length
  const best = leaders.reduce<number | undefined>(
    (most, leader) => (most === undefined || countOf(leader) > countOf(most) ? leader : most),
    undefined,
  )
  const agrees = given.map((leader) => leader !== undefined && leader === best)
  return {
    answer: best === undefined ? null : distinct[best]!,
    count: agrees.filter(Boolean).length,
    votes: given.filter((leader) => leader !== undefined).length,
    agrees,
  }
}
