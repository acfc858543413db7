/** One question from its birth to the update that used it. */
import type { ComponentChildren } from 'preact'
import { useContext, useRef, useState } from 'preact/hooks'
import type { Match } from '../../../api/match.js'
import type { Part, RolloutRef, RolloutRow } from '../../../api/rollouts.js'
import type { Role } from '../../../api/run.js'
import { percent, words } from '../../view/format.js'
import { plain } from '../../view/text.js'
import { bandText } from '../charts/bars.js'
import { roleColor } from '../colors.js'
import { DarkContext, useData, useKeys, useSource } from '../hooks.js'
import { Block, HeatScale } from '../texts.js'
import { Await, Choice, go, Link } from '../ui.js'
import { Answers } from './answers.js'
import { BirthStep } from './birth.js'
import { Chains } from './chains.js'
import { Critiques } from './critiques.js'
import { Rewards, Updates } from './update.js'

export function MatchPage({ run, at }: { run: string; at: RolloutRef }) {
  const source = useSource()
  const asked = useData(`match ${run} ${at.round} ${at.role} ${at.line}`, () => source.match(run, at))
  const detail = useData(`run ${run}`, () => source.run(run))
  return (
    <Await asked={asked}>
      {(match) => <MatchView run={run} match={match} parts={detail.data?.parts ?? []} />}
    </Await>
  )
}

export interface MatchProps {
  run: string
  match: Match
  heat: boolean
  color(role: string): string
}

function MatchView({ run, match, parts }: { run: string; match: Match; parts: Role[] }) {
  const dark = useContext(DarkContext)
  const [heat, setHeat] = useState(true)
  const walk = useNeighbours(run, match)
  useKeys({ h: () => setHeat(!heat), n: () => walk(1), p: () => walk(-1) })
  const props: MatchProps = { run, match, heat, color: (role) => roleColor(role, parts, dark) }
  const { round, birth, critiques, chains } = match
  return (
    <article class="match">
      <div class="bar">
        <h1>Match</h1>
        <Link to={{ page: 'rollouts', run, query: { from: round, to: round } }}>round {round}</Link>
        <span class="note">{match.game}</span>
        <span class="grow" />
        <HeatScale />
        <Choice
          label="Token heat"
          value={heat ? 'on' : 'off'}
          options={[
            ['on', 'heat'],
            ['off', 'plain'],
          ]}
          choose={(value) => setHeat(value === 'on')}
        />
        <button type="button" onClick={() => walk(-1)} title="Previous match of the round (p)">
          ‹ previous
        </button>
        <button type="button" onClick={() => walk(1)} title="Next match of the round (n)">
          next ›
        </button>
      </div>
      {match.cutAt !== null && (
        <p class="note cut">Of each role the first {match.cutAt} rollouts of this match are shown.</p>
      )}
      <ol class="spine">
        {birth && <BirthStep {...props} birth={birth} />}
        <QuestionStep {...props} />
        {chains.length > 0 ? <Chains {...props} /> : <Answers {...props} />}
        {critiques.length > 0 && <Critiques {...props} />}
        <Rewards {...props} />
        <Updates {...props} />
      </ol>
    </article>
  )
}

/** One stage of a question's life. */
export function Step(props: {
  title: string
  note?: ComponentChildren
  color?: string
  children: ComponentChildren
}) {
  return (
    <li class="step" style={props.color ? { '--role': props.color } : {}}>
      <div class="step-head">
        <h2>{props.title}</h2>
        {props.note && <span class="note">{props.note}</span>}
      </div>
      {props.children}
    </li>
  )
}

/** Passed, failed. */
const checkWords: Record<Match['checks'][number]['name'], readonly [string, string]> = {
  well_formed: ['well-formed', 'malformed'],
  no_leak: ['gives nothing away', 'gives its answer away'],
  not_too_long: ['fits the prompt', 'too long for the prompt'],
  in_band: ['pass rate within the band', 'pass rate outside the band'],
  new: ['new', 'seen before'],
  label_true: ['label is true', 'label is false'],
}

function QuestionStep({ run, match }: MatchProps) {
  const { question, label, truth, rate, band, checks, elsewhere } = match
  return (
    <Step title="Question">
      {question === null ? (
        <p class="note">No question could be read from the proposal.</p>
      ) : (
        <div class="question">
          <Block text={question} />
        </div>
      )}
      <dl class="facts">
        {label && (
          <div>
            <dt>
              label (
              {label.from === 'known'
                ? 'known answer'
                : label.from === 'majority'
                  ? 'majority of the answers'
                  : 'the author’s own answer'}
              )
            </dt>
            <dd>
              <bdi class="answer">{plain(label.text)}</bdi>
            </dd>
          </div>
        )}
        {truth !== null && (
          <div>
            <dt>true answer</dt>
            <dd>
              <bdi class="answer">{plain(truth)}</bdi>
              {label && label.text !== truth && <span class="bad"> differs from the label</span>}
            </dd>
          </div>
        )}
        {rate !== null && (
          <div>
            <dt>pass rate</dt>
            <dd>
              <RateBar rate={rate} band={band} /> {percent(rate)}
              {band && <small> {bandText(band)}</small>}
            </dd>
          </div>
        )}
      </dl>
      {checks.length > 0 && (
        <ul class="checks" aria-label="What was checked">
          {checks.map(({ name, passed, found }) => (
            <li key={name} class={passed === null ? 'unknown' : passed ? 'passed' : 'failed'}>
              {checkWords[name][passed === false ? 1 : 0]}
              {passed === null ? <small> not known</small> : <Found name={name} found={found} />}
            </li>
          ))}
        </ul>
      )}
      {elsewhere.length > 0 && (
        <p class="note">
          Played again in{' '}
          {elsewhere.slice(0, 12).map((ref) => (
            <Link key={`${ref.round} ${ref.line}`} to={{ page: 'match', run, ref }}>
              round {ref.round}{' '}
            </Link>
          ))}
          {elsewhere.length > 12 && ` and ${elsewhere.length - 12} more`}
        </p>
      )}
    </Step>
  )
}

/** What is not told elsewhere: the flaw, how many it repeats. */
function Found({ name, found }: { name: Match['checks'][number]['name']; found: Part }) {
  if (typeof found === 'string' && name !== 'label_true') return <small> {plain(words(found))}</small>
  return name === 'new' && typeof found === 'number' && found > 0 ? <small> {found} times</small> : null
}

function RateBar({ rate, band }: { rate: number; band: Match['band'] }) {
  return (
    <span class="rate-bar" aria-hidden="true">
      {band && <i style={{ left: `${100 * band.low}%`, right: `${100 - 100 * band.high}%` }} />}
      <b style={{ left: `${100 * rate}%` }} />
    </span>
  )
}

/**
 * Goes to the match before or after, in the order of the round's file. A step that is asked for before the last one was
 * taken goes on from there.
 */
function useNeighbours(run: string, match: Match): (step: 1 | -1) => void {
  const source = useSource()
  const { round, role, line } = match.birth?.proposal ?? match.at
  const here = useRef({ match, line })
  if (here.current.match !== match) here.current = { match, line }
  const rows = useRef<Promise<RolloutRow[]> | undefined>(undefined)
  return async (step) => {
    const own = here.current
    rows.current ??= source
      .rollouts(run, { from: round, to: round, role, order: 'old', limit: 200 })
      .then((answer) => answer.rows)
    const all = await rows.current
    const from = all.findIndex((row) => row.line === own.line)
    if (from < 0) return
    const isOther = (i: number) => match.birth !== null || all[i]!.group !== all[from]!.group
    let at = from + step
    while (at in all && !isOther(at)) at += step
    const next = all[at]
    if (next === undefined) return
    own.line = next.line
    go({ page: 'match', run, ref: { round: next.round, role: next.role, line: next.line } })
  }
}
