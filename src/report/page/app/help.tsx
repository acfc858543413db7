/** The keys, in a dialog. */
import { useEffect, useRef } from 'preact/hooks'

const keys: readonly (readonly [string, string])[] = [
  ['?', 'this list'],
  ['u', 'up: from a match or its rollouts to the run, from the run to all runs'],
  ['t', 'dark or light'],
  ['j  k', 'next, previous row of a list'],
  ['Enter', 'open the row; on a chart, the rollouts of the round under the cursor'],
  ['x  c', 'runs: tick for a comparison, compare'],
  ['/', 'search'],
  ['1 … 6', 'views of a run'],
  ['[  ]', 'previous, next round'],
  ['n  p', 'next, previous match of the round'],
  ['h', 'token heat on or off'],
  ['← →', 'on a chart: move the cursor; on slices: to the next'],
  ['s  l', 'charts: more smoothing, log scale'],
  ['0', 'charts: all rounds again'],
  ['b  w  r', 'rollouts: best, worst, random first'],
]

export function Help({ close }: { close(): void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} class="help" onClose={close} aria-label="Keys">
      <h2>Keys</h2>
      <dl>
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  )
}
