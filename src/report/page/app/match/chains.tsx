/** Answers as slices in the colours of their verdicts; the rationale of the one that is pointed at or focused. */
import { useState } from 'preact/hooks'
import type { Chain, JudgedSlice, Rollout, Verdict } from '../../../api.js'
import { type Stance, segments, stance } from '../../view/chain.js'
import { number } from '../../view/format.js'
import { heatPieces, piecesWithin } from '../../view/heat.js'
import { Block, Completion, Pieces, Plain } from '../texts.js'
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
  const { chains, references, answers, solution } = match
  const [looked, look] = useState<Judged | null>(null)
  const all = [...chains.flatMap(({ slices }) => slices), ...references].flatMap(({ verdicts }) => verdicts)
  const judge = all[0]?.rollout.role ?? 'discriminator'
  return (
    <Step
      title={`Slices, as the ${judge} judged them`}
      color={color(judge)}
      note={
        <span class="slice-legend">
          <span class="slice yes">YES</span> <span class="slice no">NO</span>{' '}
          <span class="slice split">both</span> <span class="slice unread">none</span> · point at a slice, or
          go through them with Tab and the arrow keys
        </span>
      }
    >
      <div class="chains">
        <div class="chain-list">
          {chains.map((chain) => (
            <ChainText
              key={chain.answer}
              chain={chain}
              answer={answers[chain.answer]}
              {...{ heat, looked, look }}
            />
          ))}
        </div>
        <div class="chain-side">
          {(references.length > 0 || solution !== null) && (
            <section class="card">
              <h3>Reference</h3>
              {solution !== null && <Block text={solution} />}
              {references.map((slice, i) => (
                <ReferenceSlice key={i} number={i + 1} {...{ slice, looked, look }} />
              ))}
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

interface Looking {
  looked: Judged | null
  look(judged: Judged): void
}

function ChainText(props: { chain: Chain; answer: Rollout | undefined; heat: boolean } & Looking) {
  const { chain, answer, heat, looked, look } = props
  if (answer === undefined) return null
  const pieces = heatPieces(answer.text, heat ? answer.heat : null)
  return (
    <section class="card" aria-label={`Answer ${chain.answer}`}>
      <header>
        <Grade grade={gradeOf(answer)} />
        <b>#{answer.index ?? chain.answer}</b>
        <small>
          slices {number(numeric(answer.parts.slice_reward))} · answer{' '}
          {number(numeric(answer.parts.answer_reward))} · reward {number(answer.reward)}
        </small>
      </header>
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

function ReferenceSlice({
  slice,
  number: k,
  looked,
  look,
}: { slice: JudgedSlice; number: number } & Looking) {
  return (
    <div class="text">
      <SliceMark
        judged={{ name: `slice ${k} of the references`, verdicts: slice.verdicts }}
        {...{ looked, look }}
      >
        <Plain text={slice.shown} />
      </SliceMark>
    </div>
  )
}

function SliceMark(props: { judged: Judged; children: preact.ComponentChildren } & Looking) {
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
