/** What stands above charts: which metrics are shown, how much they are smoothed. */
import type { ComponentChildren, RefObject } from 'preact'
import { useStored } from '../hooks.js'

/** Smoothing is the same wherever there are charts, and is kept. */
export function useSmoothing(): [number, (smooth: number) => void] {
  const [smooth, setSmooth] = useStored('smooth', '0')
  return [Number(smooth), (next) => setSmooth(String(next))]
}

export function ChartBar(props: {
  wanted: string
  want(text: string): void
  smooth: number
  smoothen(smooth: number): void
  search?: RefObject<HTMLInputElement | null>
  children: ComponentChildren
}) {
  const { wanted, want, smooth, smoothen, search, children } = props
  return (
    <div class="bar sticky">
      <input
        {...(search && { ref: search })}
        type="search"
        placeholder="Search metrics"
        aria-label="Search metrics"
        value={wanted}
        onInput={(event) => want(event.currentTarget.value)}
      />
      <label>
        smoothing{' '}
        <input
          type="range"
          min="0"
          max="0.98"
          step="0.02"
          value={smooth}
          onInput={(event) => smoothen(Number(event.currentTarget.value))}
        />
      </label>
      {children}
    </div>
  )
}
