/** The tags of the arithmetic world and where they stand: the only place that spells them. */
export const tags = {
  thinkOpen: '<think>',
  thinkClose: '</think>',
  problemOpen: '<problem>',
  problemClose: '</problem>',
  answerOpen: '<answer>',
  answerClose: '</answer>',
  boxOpen: '\\boxed{',
  boxClose: '}',
} as const

/** A worked chain with its boxed result. */
export function answerText(chain: string, result: string): string {
  return `${chain} ${tags.boxOpen}${result}${tags.boxClose}`
}

/** What a proposer writes after its open thinking tag. */
export function proposalText(problem: string, answer: string): string {
  const { thinkClose, problemOpen, problemClose, answerOpen, answerClose } = tags
  return `${thinkClose}\n${problemOpen}${problem}${problemClose}\n${answerOpen}${answer}${answerClose}`
}
