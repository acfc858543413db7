/** Answers as slices in the colours of their verdicts; the rationale of the one that is pointed at or focused. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Chain, JudgedSlice, Verdict } from '../../../api/match.js'
import type { Rollout } from '../../../api/rollouts.js'
import { placeSlices, type Stance, segments, stance } from '../../view/chain.js'
import { number } from '../../view/format.js'
import { heatPieces, piecesWithin } from '../../view/heat.js'
import { sameRef } from '../../view/inlined.js'
import { plain } from '../../view/text.js'
import { Completion, Pieces, Plain } from '../texts.js'
import { Facts, Grade, gradeOf } from './answers.js'
import { type MatchProps, Step } from './match.js'

interface Judged {
  name: string
  verdicts: Verdict[]
}

const stanceWords: Record<Stance, string> = {
  yes: 'YES',
  no: 'NO',
  split: 'YES and NO',
  unread: 'no verdict',
}

export function Chains({ run, match, heat, color }: MatchProps) {
  const { chains, references, answers, solution, at } = match
  const [looked, look] = useState<Judged | null>(null)
  const all = [...chains.flatMap(({ slices }) => slices), ...references].flatMap(({ verdicts }) => verdicts)
  const judge = all[0]?.rollout.role ?? 'discriminator'
  return (
    <Step
      title={`Answers of the ${answers[0]?.role ?? 'reasoner'}, as the ${judge} judged their slices`}
      color={color(answers[0]?.role ?? judge)}
      note={
        <span class="slice-legend">
          <span class="slice yes">YES</span> <span class="slice no">NO</span>{' '}
          <span class="slice split">both</span> <span class="slice unread">none</span> · point at a slice, or
          go through them with Tab and the arrow keys
        </span>
      }
    >
      {match.partial !== null && (
        <p class="note cut">
          Partial traces: each is cut behind its {ordinal(match.partial)} slice. Tokens that were sampled
          behind it are not shown, neither judged nor learned from, and in no count of tokens.
        </p>
      )}
      <div class="chains">
        <div class="chain-list">
          {chains.map((chain) => (
            <ChainText
              key={chain.answer}
              chain={chain}
              answer={answers[chain.answer]}
              here={answers[chain.answer] !== undefined && sameRef(answers[chain.answer]!, at)}
              {...{ heat, looked, look }}
            />
          ))}
        </div>
        <div class="chain-side">
          {(references.length > 0 || solution !== null) && (
            <section class="card">
              <h3>Reference</h3>
              <Reference {...{ solution, references, looked, look }} />
            </section>
          )}
          <section class="card rationale" aria-live="polite">
            <h3>{looked ? `Judgment of ${looked.name}` : 'Judgment'}</h3>
            {looked === null ? (
              <p class="note">Of the slice that is pointed at.</p>
            ) : (
              looked.verdicts.map((verdict) => (
                <div key={verdict.rollout.line} class="judgment">
                  <p>
                    <span class={`slice ${stance([verdict])}`}>{verdict.verdict ?? 'no verdict'}</span>{' '}
                    {verdict.pYes !== null && <span>p(YES) {number(verdict.pYes)}</span>}
                  </p>
                  <Completion run={run} rollout={verdict.rollout} heat={heat} />
                  <Facts rollout={verdict.rollout} />
                </div>
              ))
            )}
          </section>
        </div>
      </div>
    </Step>
  )
}

function ordinal(n: number): string {
  return ['first', 'second', 'third', 'fourth', 'fifth'][n - 1] ?? `${n}th`
}

interface Looking {
  looked: Judged | null
  look(judged: Judged): void
}

function ChainText(
  props: { chain: Chain; answer: Rollout | undefined; heat: boolean; here: boolean } & Looking,
) {
  const { chain, answer, heat, here, looked, look } = props
  if (answer === undefined) return null
  const pieces = heatPieces(answer.text, heat ? answer.heat : null)
  return (
    <section class={here ? 'card here' : 'card'} aria-label={`Answer ${chain.answer}`}>
      <header>
        <Grade grade={gradeOf(answer)} />
        <b>#{answer.index ?? chain.answer}</b>
        {typeof answer.parts.extracted === 'string' && (
          <bdi class="answer">{plain(answer.parts.extracted)}</bdi>
        )}
        <small>
          slices {number(numeric(answer.parts.slice_reward))} · answer{' '}
          {number(numeric(answer.parts.answer_reward))}
        </small>
      </header>
      <Facts rollout={answer} />
      <div class="text" dir="auto">
        {segments(answer.text.length, chain.slices).map(({ start, end, slice }) => {
          const within = <Pieces pieces={piecesWithin(pieces, start, end)} />
          if (slice === null) return <span key={start}>{within}</span>
          const name = `slice ${slice.piece + 1} of answer #${answer.index ?? chain.answer}`
          return (
            <SliceMark key={start} judged={{ name, verdicts: slice.verdicts }} {...{ looked, look }}>
              {within}
            </SliceMark>
          )
        })}
      </div>
    </section>
  )
}

/** The worked solution with its slices where they lie in it; those that are not found there, below it. */
function Reference(props: { solution: string | null; references: JudgedSlice[] } & Looking) {
  const { solution, references, looked, look } = props
  const text = solution ?? ''
  const placed = placeSlices(text, references)
  const mark = (slice: { piece: number; verdicts: Verdict[] }, within: ComponentChildren) => (
    <SliceMark
      key={slice.piece}
      judged={{ name: `slice ${slice.piece + 1} of the reference`, verdicts: slice.verdicts }}
      {...{ looked, look }}
    >
      {within}
    </SliceMark>
  )
  return (
    <>
      <div class="text" dir="auto">
        {segments(text.length, placed).map(({ start, end, slice }) => {
          const within = <Plain text={text.slice(start, end)} />
          return slice === null ? <span key={`at ${start}`}>{within}</span> : mark(slice, within)
        })}
      </div>
      {placed.map(
        (slice) =>
          slice.start === null && (
            <div class="text" key={slice.piece}>
              {mark(slice, <Plain text={references[slice.piece]!.shown} />)}
            </div>
          ),
      )}
    </>
  )
}

function SliceMark(props: { judged: Judged; children: ComponentChildren } & Looking) {
  const { judged, looked, look, children } = props
  const said = stance(judged.verdicts)
  return (
    <span
      role="button"
      tabIndex={0}
      class={`slice ${said}${looked?.name === judged.name ? ' looked' : ''}`}
      aria-label={`${judged.name}: ${stanceWords[said]}`}
      onMouseEnter={() => look(judged)}
      onFocus={() => look(judged)}
      onKeyDown={moveFocus}
    >
      {children}
    </span>
  )
}

function moveFocus(event: KeyboardEvent): void {
  const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
  if (step === 0) return
  const all = [...document.querySelectorAll<HTMLElement>('.slice[tabindex]')]
  all[all.indexOf(event.currentTarget as HTMLElement) + step]?.focus()
  event.preventDefault()
}

function numeric(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}
