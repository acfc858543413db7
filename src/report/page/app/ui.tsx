/** The small parts that views are put together from. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Coverage } from '../../api/rollouts.js'
import type { RunStatus } from '../../api/run.js'
import { count } from '../view/format.js'
import { formatRoute, type Route } from '../view/route.js'
import type { Asked } from './hooks.js'

export function Link(props: { to: Route; class?: string; title?: string; children: ComponentChildren }) {
  const { to, children, ...rest } = props
  return (
    <a href={formatRoute(to)} {...rest}>
      {children}
    </a>
  )
}

export function go(route: Route): void {
  location.hash = formatRoute(route)
}

const statusWords: Record<RunStatus, string> = {
  running: 'running',
  finished: 'finished',
  stopped: 'stopped',
  crashed: 'crashed',
}

export function Status({ status }: { status: RunStatus }) {
  return <span class={`status ${status}`}>{statusWords[status]}</span>
}

export function Section(props: {
  title: string
  note?: ComponentChildren
  actions?: ComponentChildren
  class?: string
  children: ComponentChildren
}) {
  return (
    <section class={`panel ${props.class ?? ''}`} aria-label={props.title}>
      <header>
        <h2>{props.title}</h2>
        {props.note && <p class="note">{props.note}</p>}
        {props.actions && <div class="actions">{props.actions}</div>}
      </header>
      {props.children}
    </section>
  )
}

/** One of a few choices. */
export function Choice<T extends string>(props: {
  label: string
  value: T
  options: readonly (readonly [T, string])[]
  choose(value: T): void
}) {
  return (
    <fieldset class="choice" aria-label={props.label}>
      {props.options.map(([value, text]) => (
        <button
          type="button"
          key={value}
          aria-pressed={value === props.value}
          onClick={() => props.choose(value)}
        >
          {text}
        </button>
      ))}
    </fieldset>
  )
}

/** Waits for data, and says why there is none. */
export function Await<T>({ asked, children }: { asked: Asked<T>; children: (data: T) => ComponentChildren }) {
  if (asked.error) {
    return (
      <div class="fault" role="alert">
        <p>{asked.error.message}</p>
        {asked.error.hint && <p class="note">{asked.error.hint}</p>}
      </div>
    )
  }
  if (asked.data === undefined) return <p class="waiting">Reading …</p>
  return <>{children(asked.data)}</>
}

export function Stat(props: { label: string; title?: string; children: ComponentChildren }) {
  return (
    <div class="stat" title={props.title}>
      <dt>{props.label}</dt>
      <dd>{props.children}</dd>
    </div>
  )
}

/** Rows of numbers that are shown. */
const MOST_ROWS = 1000

/** The numbers behind a picture, for those who cannot see it or want them exactly. */
export function TextAlternative(props: { summary: string; head: string[]; rows: (string | number)[][] }) {
  const [open, setOpen] = useState(false)
  return (
    <details class="numbers" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span class="hidden">{props.summary} </span>Numbers
      </summary>
      {open && (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                {props.head.map((cell) => (
                  <th key={cell}>{cell}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {props.rows.slice(0, MOST_ROWS).map((row) => (
                <tr key={row[0]}>
                  {row.map((cell, i) => (
                    <td key={props.head[i]}>{cell}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
          {props.rows.length > MOST_ROWS && (
            <p class="note">
              The first {MOST_ROWS} of {props.rows.length} rows.
            </p>
          )}
        </div>
      )}
    </details>
  )
}

/** Part of a whole as a line of colour under a number. */
export function Meter({ share, label }: { share: number; label: string }) {
  return (
    <span class="meter" role="img" aria-label={label}>
      <span style={{ width: `${100 * Math.max(0, Math.min(1, share))}%` }} />
    </span>
  )
}

const ends: Record<NonNullable<Coverage['ends']>, string> = {
  memory: 'more does not fit into memory: choose fewer rounds',
  time: 'the report was written before the others were read; sparring ui shows all of them',
}

/** Where what is shown is not of everything that was asked for, how much of it is and why. */
export function Covered({ coverage }: { coverage: Coverage }) {
  const { read, of, ends: why, damaged } = coverage
  if (read >= of && !damaged) return null
  return (
    <p class={why || damaged ? 'note cut' : 'note'}>
      {read < of && `${count(read)} of ${count(of)} rounds are read${why ? `; ${ends[why]}` : ' so far'}. `}
      {damaged &&
        `${count(damaged)} ${damaged === 1 ? 'line' : 'lines'} could not be read and ${damaged === 1 ? 'is' : 'are'} left out.`}
    </p>
  )
}
