/** Every answer to the question, with its grade. */
import type { Part, Rollout } from '../../../api/rollouts.js'
import { number, signed, words } from '../../view/format.js'
import { sameRef } from '../../view/inlined.js'
import { beginning, plain } from '../../view/text.js'
import { Completion } from '../texts.js'
import { type MatchProps, Step } from './match.js'

export function Answers({ run, match, heat, color }: MatchProps) {
  const { answers, revisions, at } = match
  const role = answers[0]?.role
  if (role === undefined) {
    return (
      <Step title="Answers">
        <p class="note">It was put to nobody.</p>
      </Step>
    )
  }
  const right = answers.filter((answer) => gradeOf(answer) === true).length
  return (
    <Step
      title={`Answers of the ${role}`}
      color={color(role)}
      note={`${right} of ${answers.length} agree with the label`}
    >
      <div class="cards">
        {answers.map((answer) => (
          <AnswerCard key={answer.line} {...{ run, answer, heat }} here={sameRef(answer, at)} />
        ))}
      </div>
      {revisions.length > 0 && (
        <>
          <h3>Second answers, after a critique</h3>
          <div class="cards">
            {revisions.map((answer) => (
              <AnswerCard key={answer.line} {...{ run, answer, heat }} here={sameRef(answer, at)} />
            ))}
          </div>
        </>
      )}
    </Step>
  )
}

function AnswerCard(props: { run: string; answer: Rollout; heat: boolean; here: boolean }) {
  const { run, answer, heat, here } = props
  const grade = gradeOf(answer)
  const { extracted, verdict } = answer.parts
  return (
    <section class={here ? 'card here' : 'card'} aria-label={`Answer ${answer.index}`}>
      <header>
        <Grade grade={grade} />
        <b>#{answer.index ?? answer.line}</b>
        {typeof extracted === 'string' && <bdi class="answer">{plain(beginning(extracted, 80))}</bdi>}
        {verdict !== null && verdict !== undefined && verdict !== 'equal' && (
          <small>{plain(words(String(verdict)))}</small>
        )}
      </header>
      <Facts rollout={answer} />
      <Completion run={run} rollout={answer} heat={heat} />
    </section>
  )
}

export function Grade({ grade }: { grade: boolean | null }) {
  if (grade === null)
    return (
      <span class="grade unknown" title="not graded">
        –
      </span>
    )
  return grade ? (
    <span class="grade right" title="agrees with the label">
      ✓
    </span>
  ) : (
    <span class="grade wrong" title="does not agree with the label">
      ✗
    </span>
  )
}

/** Whether an answer agrees with the label. */
export function gradeOf({ parts, reward }: Rollout): boolean | null {
  if (typeof parts.verdict === 'string') return parts.verdict === 'equal'
  // Of a partial trace nobody has seen an answer.
  if (parts.verdict === null) return null
  if (typeof parts.right === 'boolean') return parts.right
  return reward === null ? null : reward > 0
}

/** What is known of a completion in a line. */
export function Facts({ rollout }: { rollout: Rollout }) {
  const { tokens, logprob, reward, advantage, stop, trained } = rollout
  return (
    <p class="line-facts">
      <span title="reward">
        reward <b>{number(reward)}</b>
      </span>
      <span title="advantage within its group">
        advantage <b>{signed(advantage)}</b>
        <AdvantageBar advantage={advantage} />
      </span>
      <span>
        {number(tokens)} tokens
        {stop && stop !== 'eos' && <em class={stop === 'stop' ? 'note' : 'bad'}> {words(stop)}</em>}
      </span>
      <span title="mean log-probability of its tokens, nats">log-prob {number(logprob)}</span>
      {trained === false && <span class="note">entered no update</span>}
    </p>
  )
}

/** From the middle to the right for what is encouraged, to the left for what is not; ends at two deviations. */
export function AdvantageBar({ advantage }: { advantage: number | null }) {
  const share = Math.max(-1, Math.min(1, (advantage ?? 0) / 2))
  return (
    <span class="advantage" aria-hidden="true">
      <i
        class={share < 0 ? 'less' : 'more'}
        style={
          share < 0 ? { right: '50%', width: `${-50 * share}%` } : { left: '50%', width: `${50 * share}%` }
        }
      />
    </span>
  )
}

/** Parts whose values are texts that the page shows elsewhere. */
const shownElsewhere = /^(question|problem|gold|label|reference|slice|extracted|truth|answer)$/

export function numbersOf(parts: Record<string, Part>): [string, Part][] {
  return Object.entries(parts).filter(([name]) => !shownElsewhere.test(name))
}
