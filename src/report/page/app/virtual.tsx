/** A list of any length of which only the rows in sight are drawn. */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

const OVERSCAN = 8

export interface VirtualProps {
  label: string
  /** Rows, all of one height, CSS pixels. */
  count: number
  height: number
  /** Row that the keys are at, which is kept in sight; -1 for none. */
  current: number
  head?: ComponentChildren
  row(index: number): ComponentChildren
  /** Called when the end of the list comes near. */
  nearEnd?(): void
}

export function Virtual({ label, count, height, current, head, row, nearEnd }: VirtualProps) {
  const box = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 800 })
  const look = () => {
    const { scrollTop, clientHeight } = box.current!
    setView({ top: scrollTop, height: clientHeight })
  }
  useLayoutEffect(() => {
    look()
    const observer = new ResizeObserver(look)
    observer.observe(box.current!)
    return () => observer.disconnect()
  }, [])
  const first = Math.max(0, Math.floor(view.top / height) - OVERSCAN)
  const last = Math.min(count, Math.ceil((view.top + view.height) / height) + OVERSCAN)
  useEffect(() => {
    if (last >= count - OVERSCAN) nearEnd?.()
  }, [last, count])
  useEffect(() => {
    const { scrollTop, clientHeight } = box.current!
    if (current < 0) return
    if (current * height < scrollTop) box.current!.scrollTop = current * height
    if ((current + 2) * height > scrollTop + clientHeight) {
      box.current!.scrollTop = (current + 2) * height - clientHeight
    }
  }, [current])
  return (
    <div
      class="virtual"
      ref={box}
      onScroll={look}
      role="table"
      aria-label={label}
      aria-rowcount={count}
      tabIndex={0}
    >
      {head && <div class="virtual-head">{head}</div>}
      <div style={{ height: `${count * height}px`, position: 'relative' }}>
        {Array.from({ length: Math.max(0, last - first) }, (_, i) => (
          <div
            key={first + i}
            role="row"
            tabIndex={-1}
            aria-rowindex={first + i + 1}
            class={first + i === current ? 'row current' : 'row'}
            style={{
              position: 'absolute',
              top: `${(first + i) * height}px`,
              height: `${height}px`,
              left: 0,
              right: 0,
            }}
          >
            {row(first + i)}
          </div>
        ))}
      </div>
    </div>
  )
}
