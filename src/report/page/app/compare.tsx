/** Two to four runs: their settings where they differ, their numbers in the same charts. */
import { useContext, useMemo, useRef, useState } from 'preact/hooks'
import type { MetricsAnswer } from '../../api/metrics.js'
import type { Comparison, RunSummary } from '../../api/run.js'
import { plain } from '../view/text.js'
import { ChartBar, useSmoothing } from './charts/bar.js'
import { LineChart } from './charts/line.js'
import { lineColor } from './colors.js'
import { DarkContext, useData, useSeen, useSource } from './hooks.js'
import { Change } from './runs.js'
import { Await, Link, Section, Status } from './ui.js'

export function ComparePage({ runs, version }: { runs: string[]; version: number }) {
  const source = useSource()
  const asked = useData(runs.length < 2 ? null : `compare ${runs} ${version}`, () => source.compare(runs))
  if (runs.length < 2) return <p class="empty">Choose two to four runs in the list of runs.</p>
  return (
    <>
      <div class="bar">
        <h1>Comparison</h1>
      </div>
      <Await asked={asked}>{(comparison) => <Compared comparison={comparison} />}</Await>
    </>
  )
}

/** What is shown before anything is searched for. */
const first =
  /^heldout\/(accuracy|greedy)$|\/reward\/mean$|^pass_rate\/mean$|\/policy\/entropy$|valid_frac$|accuracy_valid$/

function Compared({ comparison }: { comparison: Comparison }) {
  const { runs, differences, metrics } = comparison
  const dark = useContext(DarkContext)
  const [all, setAll] = useState(false)
  const lacks = ({ values }: Comparison['differences'][number]) => values.some((value) => value === null)
  const [shared, partial] = [differences.filter((each) => !lacks(each)), differences.filter(lacks)]
  const [wanted, setWanted] = useState('')
  const [smooth, setSmooth] = useSmoothing()
  const names = metrics.filter((name) =>
    wanted === ''
      ? first.test(name)
      : !/\/p\d+$|_(low|high)$/.test(name) && name.includes(wanted.toLowerCase()),
  )
  return (
    <>
      <Section title="Runs">
        <div class="scroll">
          <table class="compared">
            <thead>
              <tr>
                <td />
                {runs.map(({ id }, i) => (
                  <th key={id} scope="col">
                    <i class="dot" style={{ background: lineColor(i, dark) }} />
                    <Link to={{ page: 'run', run: id, tab: 'overview' }}>
                      <bdi>{plain(id)}</bdi>
                    </Link>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              <tr>
                <th scope="row">status</th>
                {runs.map(({ id, status, round, rounds }) => (
                  <td key={id}>
                    <Status status={status} /> {round} of {rounds ?? '–'}
                  </td>
                ))}
              </tr>
              <tr>
                <th scope="row">held-out</th>
                {runs.map(({ id, anchor }) => (
                  <td key={id}>
                    <span class="inline">
                      <Change anchor={anchor} />
                    </span>
                  </td>
                ))}
              </tr>
              {shared.map((difference) => (
                <Difference
                  key={difference.key}
                  name={difference.key}
                  values={difference.values}
                  runs={runs}
                />
              ))}
            </tbody>
            {partial.length > 0 && (
              <tbody>
                <tr>
                  <td colSpan={runs.length + 1}>
                    <button type="button" class="quiet" onClick={() => setAll(!all)}>
                      {all ? 'Hide' : 'Show'} {partial.length} settings that not all of them have
                    </button>
                  </td>
                </tr>
                {all &&
                  partial.map((difference) => (
                    <Difference
                      key={difference.key}
                      name={difference.key}
                      values={difference.values}
                      runs={runs}
                    />
                  ))}
              </tbody>
            )}
          </table>
        </div>
        {differences.length === 0 && <p class="note">Their settings are the same.</p>}
      </Section>
      <ChartBar {...{ wanted, smooth }} want={setWanted} smoothen={setSmooth}>
        <span class="note">
          {names.length} of {metrics.length} metrics that all of them wrote
        </span>
      </ChartBar>
      <div class="chart-grid">
        {names.map((name) => (
          <ComparedChart key={name} {...{ name, runs, smooth, dark }} />
        ))}
      </div>
    </>
  )
}

function Difference({ name, values, runs }: { name: string; values: unknown[]; runs: RunSummary[] }) {
  return (
    <tr>
      <th scope="row">
        <code>{name}</code>
      </th>
      {values.map((value, i) => (
        <td key={runs[i]!.id}>
          {value === null || value === undefined
            ? '–'
            : plain(typeof value === 'string' ? value : JSON.stringify(value))}
        </td>
      ))}
    </tr>
  )
}

interface ComparedChartProps {
  name: string
  runs: RunSummary[]
  smooth: number
  dark: boolean
}

function ComparedChart({ name, runs, smooth, dark }: ComparedChartProps) {
  const source = useSource()
  const [watch, seen] = useSeen()
  /** By run: the answer of the round that it was asked for in. A run that stands still is not asked again. */
  const known = useRef(new Map<string, { at: string; answer: MetricsAnswer }>())
  const read = async ({ id, round, updated }: RunSummary): Promise<MetricsAnswer> => {
    const at = `${round} ${updated}`
    const last = known.current.get(id)
    if (last?.at === at) return last.answer
    const answer = await source.metrics(id, { names: [name], points: 300 })
    known.current.set(id, { at, answer })
    return answer
  }
  const state = runs.map(({ id, round, updated }) => `${id} ${round} ${updated}`)
  const asked = useData(seen ? `compared ${name} ${state}` : null, () => Promise.all(runs.map(read)))
  return (
    <div ref={watch} class="chart-room">
      {seen && (
        <Await asked={asked}>
          {(answers) => <Overlaid {...{ name, answers, smooth, dark }} runs={runs.map(({ id }) => id)} />}
        </Await>
      )}
    </div>
  )
}

interface OverlaidProps {
  name: string
  runs: string[]
  answers: MetricsAnswer[]
  smooth: number
  dark: boolean
}

function Overlaid({ name, runs, answers, smooth, dark }: OverlaidProps) {
  const { at, curves } = useMemo(() => {
    const at = [...new Set(answers.flatMap(({ to }) => to))].sort((a, b) => a - b)
    const curves = answers.map(({ to, columns }, i) => {
      const byRound = new Map(to.map((round, k) => [round, columns[name]?.mean[k] ?? null]))
      return {
        label: runs[i]!,
        color: lineColor(i, dark),
        values: at.map((round) => byRound.get(round) ?? null),
        dots: to.length < 25,
      }
    })
    return { at, curves }
  }, [answers, dark])
  return <LineChart title={name} from={at} to={at} {...{ curves, smooth }} />
}
