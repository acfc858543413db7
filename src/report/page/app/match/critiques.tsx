/** Solutions beside what the critic said of them; planted errors and their twins among them. */
import { useEffect } from 'preact/hooks'
import type { Critique } from '../../../api/match.js'
import type { RolloutRef } from '../../../api/rollouts.js'
import { stepsOf } from '../../view/chain.js'
import { number } from '../../view/format.js'
import { sameRef } from '../../view/inlined.js'
import { Block, Completion, Plain } from '../texts.js'
import { Facts } from './answers.js'
import { type MatchProps, Step } from './match.js'

const kinds = {
  solution: 'Solution',
  planted: 'Planted error, made from solution',
  twin: 'Untouched twin of the planted error, solution',
}

export function Critiques({ run, match, heat, color }: MatchProps) {
  const { critiques } = match
  const role = critiques[0]!.rollout.role
  // There may be dozens above the one that was asked for.
  useEffect(() => {
    if (match.at.role === role) document.querySelector('.exhibit .here')?.scrollIntoView({ block: 'center' })
  }, [match.at])
  return (
    <Step title={`Critiques of the ${role}`} color={color(role)}>
      {exhibits(critiques).map((own) => (
        <Exhibit key={own[0]!.rollout.line} {...{ run, own, heat }} at={match.at} />
      ))}
    </Step>
  )
}

/** Critiques of the same exhibit, together. */
function exhibits(critiques: readonly Critique[]): Critique[][] {
  const groups = new Map<string, Critique[]>()
  for (const critique of critiques) {
    const { of, answer, plantedStep, rollout } = critique
    const exhibit = `${of} ${answer} ${plantedStep} ${rollout.prompt}`
    groups.set(exhibit, [...(groups.get(exhibit) ?? []), critique])
  }
  return [...groups.values()]
}

function Exhibit(props: { run: string; own: Critique[]; heat: boolean; at: RolloutRef }) {
  const { run, own, heat, at } = props
  const { of, answer, right, plantedStep, rollout } = own[0]!
  const steps = stepsOf(rollout.prompt)
  const blamed = new Set(own.flatMap(({ firstError }) => firstError ?? []))
  return (
    <div class="exhibit">
      <section class="card" aria-label="What was judged">
        <header>
          <b>
            {kinds[of]} #{answer ?? '–'}
          </b>
          {right !== null && <span class={right ? 'good' : 'bad'}>{right ? 'is right' : 'is wrong'}</span>}
        </header>
        {steps.length === 0 ? (
          <Block text={rollout.prompt} />
        ) : (
          <ol class="solution-steps">
            {steps.map(({ number: k, text }) => (
              <li
                key={k}
                value={k}
                class={`${k === plantedStep ? 'planted' : ''} ${blamed.has(k) ? 'blamed' : ''}`}
              >
                <bdi>
                  <Plain text={text} />
                </bdi>
                {k === plantedStep && <small> error planted here</small>}
                {blamed.has(k) && <small>{k === plantedStep ? ' · ' : ' '}called the first error</small>}
              </li>
            ))}
          </ol>
        )}
      </section>
      <div class="critique-list">
        {own.map((critique) => (
          <section
            key={critique.rollout.line}
            class={sameRef(critique.rollout, at) ? 'card here' : 'card'}
            aria-label="Critique"
          >
            <header>
              <Said critique={critique} />
              {critique.score !== null && <small>score {number(critique.score)}</small>}
              {critique.firstError !== null && <small>first error: step {critique.firstError}</small>}
            </header>
            <Completion run={run} rollout={critique.rollout} heat={heat} />
            <Facts rollout={critique.rollout} />
          </section>
        ))}
      </div>
    </div>
  )
}

function Said({ critique: { saidCorrect, right } }: { critique: Critique }) {
  if (saidCorrect === null) return <span class="grade unknown">unreadable</span>
  const agrees = right === null ? '' : saidCorrect === right ? 'good' : 'bad'
  return <b class={agrees}>says {saidCorrect ? 'CORRECT' : 'WRONG'}</b>
}
