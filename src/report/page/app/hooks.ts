/** State that several views share: data that is asked for, keys, the theme. */
import { createContext } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import type { Coverage } from '../../api/rollouts.js'
import { parseRoute, type Route } from '../view/route.js'
import { type Source, SourceError } from './source.js'

export const SourceContext = createContext<Source>(undefined as unknown as Source)
export const useSource = (): Source => useContext(SourceContext)

export interface Asked<T> {
  /** The last answer, also while the next is on its way. */
  data: T | undefined
  error: SourceError | undefined
  loading: boolean
}

/**
 * What `load` gives, asked for again when the key changes, and after a while where the answer is `partial`. An answer that
 * comes after a newer question is dropped.
 */
export function useData<T>(
  key: string | null,
  load: () => Promise<T>,
  partial: (data: T) => boolean = () => false,
): Asked<T> {
  const [state, setState] = useState<Asked<T>>({ data: undefined, error: undefined, loading: key !== null })
  useEffect(() => {
    if (key === null) return
    let current = true
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = () =>
      load().then(
        (data) => {
          if (!current) return
          const more = partial(data)
          setState({ data, error: undefined, loading: more })
          if (more) timer = setTimeout(ask, 400)
        },
        (cause) => current && setState({ data: undefined, error: asSourceError(cause), loading: false }),
      )
    setState((before) => ({ ...before, loading: true }))
    ask()
    return () => {
      current = false
      clearTimeout(timer)
    }
  }, [key])
  return state
}

/** Whether more rounds are to be read than were. */
export const unread = ({ coverage: { read, of, ends } }: { coverage: Coverage }): boolean =>
  read < of && !ends

function asSourceError(cause: unknown): SourceError {
  return cause instanceof SourceError ? cause : new SourceError(String(cause), null, 0)
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash))
  useEffect(() => {
    const hear = () => setRoute(parseRoute(location.hash))
    addEventListener('hashchange', hear)
    return () => removeEventListener('hashchange', hear)
  }, [])
  return route
}

export type Keys = Record<string, (event: KeyboardEvent) => void>

/** Keys that act wherever nothing is being typed; Escape acts there too. A view's keys go when it goes. */
export function useKeys(keys: Keys): void {
  const latest = useRef(keys)
  latest.current = keys
  useEffect(() => {
    const hear = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
      const target = event.target as HTMLElement
      const typing = target.matches('input:not([type=checkbox]), select, textarea')
      if (typing && event.key !== 'Escape') return
      const act = latest.current[event.key]
      if (act === undefined) return
      act(event)
      event.preventDefault()
    }
    addEventListener('keydown', hear)
    return () => removeEventListener('keydown', hear)
  }, [])
}

export type Theme = 'auto' | 'light' | 'dark'

const prefersDark = matchMedia('(prefers-color-scheme: dark)')

/** The theme that was chosen, and whether the page is dark now. */
export function useTheme(): { theme: Theme; dark: boolean; choose(theme: Theme): void } {
  const [theme, setTheme] = useState<Theme>(() => (stored('theme') as Theme | null) ?? 'auto')
  const [system, setSystem] = useState(prefersDark.matches)
  useEffect(() => {
    const hear = () => setSystem(prefersDark.matches)
    prefersDark.addEventListener('change', hear)
    return () => prefersDark.removeEventListener('change', hear)
  }, [])
  const dark = theme === 'auto' ? system : theme === 'dark'
  document.documentElement.dataset.theme = dark ? 'dark' : 'light'
  return {
    theme,
    dark,
    choose: (chosen) => {
      store('theme', chosen)
      setTheme(chosen)
    },
  }
}

export const DarkContext = createContext(false)

/** A choice that outlives the page, where the browser lets it. */
export function useStored(name: string, initial: string): [string, (value: string) => void] {
  const [value, setValue] = useState(() => stored(name) ?? initial)
  return [
    value,
    (next) => {
      store(name, next)
      setValue(next)
    },
  ]
}

function stored(name: string): string | null {
  try {
    return localStorage.getItem(`sparring.${name}`)
  } catch {
    return null
  }
}

function store(name: string, value: string): void {
  try {
    localStorage.setItem(`sparring.${name}`, value)
  } catch {
    // A page from disk may have no storage: the choice holds until it is closed.
  }
}

/** Whether an element has come near the visible part of the page; stays true. */
export function useSeen(): [(element: Element | null) => void, boolean] {
  const [seen, setSeen] = useState(false)
  const observer = useRef<IntersectionObserver | null>(null)
  const watch = (element: Element | null) => {
    observer.current?.disconnect()
    if (element === null || seen) return
    observer.current = new IntersectionObserver(
      (entries) => entries.some(({ isIntersecting }) => isIntersecting) && setSeen(true),
      { rootMargin: '300px' },
    )
    observer.current.observe(element)
  }
  return [watch, seen]
}
