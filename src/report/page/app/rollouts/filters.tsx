/** What the list is narrowed to. */
import type { RefObject } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { RolloutsQuery } from '../../../api/rollouts.js'
import type { RunDetail } from '../../../api/run.js'
import { number, words } from '../../view/format.js'
import { plain } from '../../view/text.js'
import { Choice } from '../ui.js'
import type { RolloutList } from './load.js'

const orders = [
  ['new', 'newest'],
  ['best', 'best'],
  ['worst', 'worst'],
  ['random', 'random'],
] as const

const ranges = ['reward', 'rate', 'advantage', 'tokens'] as const

export interface FiltersProps {
  detail: RunDetail
  query: RolloutsQuery
  known: RolloutList
  search: RefObject<HTMLInputElement | null>
  change(query: RolloutsQuery): void
}

export function Filters({ detail, query, known, search, change }: FiltersProps) {
  const roles = [...new Set([...detail.parts.map(({ name }) => name), ...known.roles])]
  const outcomes = [...new Set([...known.outcomes, ...(query.outcome ? [query.outcome] : [])])]
  const set = (part: Partial<Record<keyof RolloutsQuery, unknown>>) =>
    change(without({ ...query, ...part }) as RolloutsQuery)
  return (
    <div class="bar filters">
      <TextFilter
        search={search}
        text={query.text ?? ''}
        change={(text) => set({ text: text || undefined })}
      />
      <RoundFilter from={query.from} to={query.to} change={(from, to) => set({ from, to })} />
      <select
        aria-label="Role"
        value={query.role ?? ''}
        onChange={(event) => set({ role: event.currentTarget.value || undefined, outcome: undefined })}
      >
        <option value="">all roles</option>
        {roles.map((role) => (
          <option key={role}>{role}</option>
        ))}
      </select>
      {outcomes.length > 0 && (
        <select
          aria-label="Outcome"
          value={query.outcome ?? ''}
          onChange={(event) => set({ outcome: event.currentTarget.value || undefined })}
        >
          <option value="">all outcomes</option>
          {outcomes.map((outcome) => (
            <option key={outcome} value={outcome}>
              {plain(words(outcome))}
            </option>
          ))}
        </select>
      )}
      <select
        aria-label="Trained"
        value={query.trained === undefined ? '' : String(query.trained)}
        onChange={({ currentTarget: { value } }) =>
          set({ trained: value === '' ? undefined : value === 'true' })
        }
      >
        <option value="">trained or not</option>
        <option value="true">trained</option>
        <option value="false">untrained</option>
      </select>
      <Choice
        label="Order"
        value={query.order === 'old' ? 'new' : (query.order ?? 'new')}
        options={orders}
        choose={(order) => set({ order, seed: order === 'random' ? (query.seed ?? 0) + 1 : undefined })}
      />
      {ranges.map((name) => {
        const ends = query[name]
        return (
          ends && (
            <button
              type="button"
              class="chip"
              key={name}
              onClick={() => set({ [name]: undefined })}
              title="Remove this filter"
            >
              {name} {number(ends[0])} … {number(ends[1])} ✕
            </button>
          )
        )
      })}
      {query.stop && (
        <button type="button" class="chip" onClick={() => set({ stop: undefined })}>
          ended by {words(query.stop)} ✕
        </button>
      )}
    </div>
  )
}

/** Looked for a moment after the last letter. */
function TextFilter(props: {
  search: RefObject<HTMLInputElement | null>
  text: string
  change(text: string): void
}) {
  const { search, text, change } = props
  const [typed, setTyped] = useState(text)
  useEffect(() => setTyped(text), [text])
  useEffect(() => {
    if (typed === text) return
    const timer = setTimeout(() => change(typed), 300)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <input
      ref={search}
      type="search"
      placeholder="Search prompts and completions"
      aria-label="Search prompts and completions"
      value={typed}
      onInput={(event) => setTyped(event.currentTarget.value)}
    />
  )
}

function RoundFilter(props: {
  from: number | undefined
  to: number | undefined
  change(from?: number, to?: number): void
}) {
  const { from, to, change } = props
  const read = (text: string) => (/^\d+$/.test(text) ? Number(text) : undefined)
  return (
    <span class="rounds-filter">
      rounds
      <input
        type="number"
        min="0"
        aria-label="From round"
        value={from ?? ''}
        placeholder="first"
        onChange={(event) => change(read(event.currentTarget.value), to)}
      />
      –
      <input
        type="number"
        min="0"
        aria-label="To round"
        value={to ?? ''}
        placeholder="last"
        onChange={(event) => change(from, read(event.currentTarget.value))}
      />
    </span>
  )
}

function without(query: object): object {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined))
}
