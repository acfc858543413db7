/** maj@n: whether the answer that most samples give is the right one. */

export interface Vote {
  right: boolean
  /** What the grader took from the sample; null where there was nothing to take. */
  extracted: string | null
}

/** Whether two answers are the same. */
export type Same = (a: string, b: string) => Promise<boolean>

/**
 * Share of the majority's answers that are right: 1 or 0, and where several answers have the most votes, 1 / their
 * number if the right one is among them (what drawing one of them would give on average). All right samples agree, as
 * do wrong ones of the same text; other wrong ones are compared only where their sum could matter. A sample with no
 * answer has no vote.
 */
export async function majorityRight(votes: readonly Vote[], same: Same): Promise<number> {
  const right = votes.filter((vote) => vote.right).length
  const wrong = new Map<string, number>()
  for (const { extracted } of votes.filter((vote) => !vote.right && vote.extracted !== null)) {
    wrong.set(extracted!, (wrong.get(extracted!) ?? 0) + 1)
  }
  if (right === 0) return 0
  const all = [...wrong.values()].reduce((sum, count) => sum + count, 0)
  const classes = all >= right ? await merge(wrong, same) : [...wrong.values()]
  if (classes.some((count) => count > right)) return 0
  return 1 / (1 + classes.filter((count) => count === right).length)
}

/** Votes of answers that are the same in other words. */
async function merge(votes: Map<string, number>, same: Same): Promise<number[]> {
  const classes: { answer: string; count: number }[] = []
  for (const [answer, count] of votes) {
    let found: (typeof classes)[number] | undefined
    for (const each of classes) if (!found && (await same(each.answer, answer))) found = each
    if (found) found.count += count
    else classes.push({ answer, count })
  }
  return classes.map(({ count }) => count)
}
