/** Texts of models on the page: never markup, isolated from what stands around them, long ones cut. */
import { useState } from 'preact/hooks'
import type { Rollout } from '../../api/rollouts.js'
import { count } from '../view/format.js'
import { type HeatPiece, heatPieces, heatTitle, piecesWithin } from '../view/heat.js'
import { beginning, stretches } from '../view/text.js'
import { useSource } from './hooks.js'

/** UTF-16 units shown at first; each "show more" shows eight times as many. */
const FIRST = 4000

export function Plain({ text }: { text: string }) {
  return <>{stretches(text).map(({ text: part, mark }, i) => (mark ? <Mark key={i} name={part} /> : part))}</>
}

function Mark({ name }: { name: string }) {
  return (
    <span class="unseen" title="A character that cannot be seen">
      {name}
    </span>
  )
}

/** A text in one line, cut by the width of its place. */
export function Line({ text }: { text: string }) {
  return (
    <bdi class="line">
      <Plain text={beginning(text, 300).replaceAll('\n', ' ⏎ ')} />
    </bdi>
  )
}

/** A whole text. */
export function Block({ text }: { text: string }) {
  const [most, setMost] = useState(FIRST)
  return (
    <div class="text" dir="auto">
      <Plain text={beginning(text, most)} />
      {text.length > most && <More left={text.length - most} show={() => setMost(most * 8)} />}
    </div>
  )
}

function More({ left, show }: { left: number; show(): void }) {
  return (
    <button type="button" class="more" onClick={show}>
      … show more ({count(left)} characters left)
    </button>
  )
}

/** A completion with its tokens by surprise; what the answer cut off is fetched when it is asked for. */
export function Completion({ run, rollout, heat = true }: { run: string; rollout: Rollout; heat?: boolean }) {
  const source = useSource()
  const { text, most, more } = useWhole(run, rollout)
  const pieces = heatPieces(text, heat ? rollout.heat : null)
  const whole = source.only === null ? (rollout.cut ?? text.length) : text.length
  return (
    <div class="text" dir="auto">
      {text === '' && <span class="note">(empty)</span>}
      <Pieces pieces={piecesWithin(pieces, 0, beginning(text, most).length)} />
      {whole > most && <More left={whole - most} show={more} />}
      {source.only !== null && rollout.cut !== null && most >= text.length && (
        <p class="note">{count(rollout.cut - text.length)} characters more are not in this report.</p>
      )}
    </div>
  )
}

export function Pieces({ pieces }: { pieces: readonly HeatPiece[] }) {
  return (
    <>
      {pieces.map((piece) =>
        piece.level === 0 ? (
          <Plain key={piece.start} text={piece.text} />
        ) : (
          <span key={piece.start} class={`heat h${piece.level}`} title={heatTitle(piece)}>
            <Plain text={piece.text} />
          </span>
        ),
      )}
    </>
  )
}

/** The text of a rollout as far as it is here, and how to get more of it. */
function useWhole(run: string, rollout: Rollout) {
  const source = useSource()
  const [fetched, setFetched] = useState<{ of: Rollout; text: string } | null>(null)
  const [most, setMost] = useState(FIRST)
  const text = fetched?.of === rollout ? fetched.text : rollout.text
  const more = () => {
    const next = most * 8
    setMost(next)
    if (rollout.cut === null || next <= text.length || fetched?.of === rollout) return
    const { round, role, line } = rollout
    source.rollout(run, { round, role, line }).then(
      (whole) => setFetched({ of: rollout, text: whole.text }),
      () => setFetched({ of: rollout, text }),
    )
  }
  return { text, most, more }
}

export function HeatScale() {
  return (
    <span class="scale note" title="Surprise of a token: minus its log-probability, in nats">
      sure
      {[1, 2, 3, 4, 5].map((level) => (
        <span key={level} class={`heat h${level}`}>
          {' '}
          {['90 %', '61 %', '37 %', '14 %', '2 %'][level - 1]}{' '}
        </span>
      ))}
      surprised
    </span>
  )
}
