/** A list that is read page by page as it is scrolled. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Coverage, RolloutRow, RolloutsAnswer, RolloutsQuery } from '../../../api/rollouts.js'
import { useSource } from '../hooks.js'

export interface RolloutList {
  rows: RolloutRow[]
  total: number | null
  coverage: Coverage | null
  /** Rounds that were searched have more than they gave. */
  hasMore: boolean
  roles: string[]
  outcomes: string[]
  loading: boolean
  error: Error | null
  more(): void
  again(): void
}

/** Milliseconds until it is looked again how many there are, while rounds are being read. */
const COUNT_EVERY = 1000

const nothing = {
  rows: [],
  total: null,
  coverage: null,
  hasMore: false,
  roles: [],
  outcomes: [],
  loading: true,
  error: null,
}

export function useRollouts(run: string, query: RolloutsQuery): RolloutList {
  const source = useSource()
  const [state, setState] = useState<Omit<RolloutList, 'more' | 'again'>>(nothing)
  const [attempt, setAttempt] = useState(0)
  /** Of the question that is being answered; an older one's answers are dropped. */
  const turn = useRef({ id: 0, cursor: undefined as string | null | undefined, busy: false })

  const read = async () => {
    const own = turn.current
    if (own.busy || own.cursor === null) return
    own.busy = true
    setState((before) => ({ ...before, loading: true }))
    try {
      let found = 0
      // A page without rows is not the end: rounds were read that hold nothing of what is looked for.
      while (found === 0 && own.cursor !== null && own === turn.current) {
        const cursor: string | undefined = own.cursor
        const page: RolloutsAnswer = await source.rollouts(run, {
          ...query,
          limit: 100,
          ...(cursor !== undefined && { cursor }),
        })
        if (own !== turn.current) return
        own.cursor = page.cursor
        found = page.rows.length
        setState((before) => merged(before, page))
      }
    } catch (cause) {
      if (own === turn.current) {
        own.cursor = null
        setState((before) => ({
          ...before,
          error: cause instanceof Error ? cause : new Error(String(cause)),
        }))
      }
    } finally {
      own.busy = false
      if (own === turn.current) setState((before) => ({ ...before, loading: false }))
    }
  }

  useEffect(() => {
    turn.current = { id: turn.current.id + 1, cursor: undefined, busy: false }
    setState((before) => ({ ...nothing, roles: before.roles, outcomes: before.outcomes }))
    read()
  }, [run, JSON.stringify(query), attempt])

  const { coverage, loading, error } = state
  const isGrowing = coverage !== null && coverage.read < coverage.of && coverage.ends === undefined
  useEffect(() => {
    if (!isGrowing || loading || error !== null || query.text) return
    const own = turn.current
    const count = async () => {
      const { total, coverage } = await source.rollouts(run, { ...query, limit: 1 })
      if (own === turn.current && !own.busy) setState((before) => ({ ...before, total, coverage }))
    }
    const timer = setTimeout(() => count().catch(() => {}), COUNT_EVERY)
    return () => clearTimeout(timer)
  }, [coverage, loading, error])

  return { ...state, more: read, again: () => setAttempt(attempt + 1) }
}

function merged(
  { rows, hasMore }: { rows: RolloutRow[]; hasMore: boolean },
  page: RolloutsAnswer,
): Omit<RolloutList, 'more' | 'again'> {
  const { total, coverage, roles, outcomes, more = false } = page
  return {
    rows: [...rows, ...page.rows],
    total,
    coverage,
    hasMore: hasMore || more,
    roles,
    outcomes,
    loading: true,
    error: null,
  }
}
