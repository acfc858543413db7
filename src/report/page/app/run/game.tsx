/** What is peculiar to the game: its questions and their labels, its judges, how rollouts are spread. */
import { useContext } from 'preact/hooks'
import type { JudgingAnswer, VerdictRow } from '../../../api/judging.js'
import type { Panel, RunDetail } from '../../../api/run.js'
import { count, percent, rounds, words } from '../../view/format.js'
import { LineChart } from '../charts/line.js'
import { ReliabilityDiagram, RocCurve } from '../charts/square.js'
import { lineColor, roleColor } from '../colors.js'
import { DarkContext, unread, useData, useSource } from '../hooks.js'
import { Await, Covered, go, Link, Meter, Section } from '../ui.js'
import { Distributions, PassRates } from './pass-rates.js'

/** Panels that are curves alone: their metrics, and what they tell. */
const curves: readonly (readonly [Panel, string, RegExp, string])[] = [
  [
    'questions',
    'Fates of the questions',
    /^questions\/(?!duplicate)\w+_frac$/,
    'Every question has one; shares of all.',
  ],
  [
    'diversity',
    'Diversity',
    /^(diversity\/mean|questions\/duplicate_frac|texts\/kept_frac)$/,
    'How much the author repeats itself.',
  ],
  ['labels', 'Label audit', /^labels\//, 'How true the game’s own labels are; touches no reward.'],
  ['buffer', 'Buffer', /^(buffer|pool)\//, 'Questions kept for later rounds.'],
]

export function GameTab({ detail, version }: { detail: RunDetail; version: number }) {
  const { panels } = detail
  return (
    <>
      {panels.includes('pass_rate') && <PassRates detail={detail} version={version} />}
      <div class="grid pair">
        {curves.map(([panel, title, form, note]) => (
          <CurvePanel
            key={panel}
            {...{ detail, version, title, form, note }}
            shown={panels.includes(panel)}
          />
        ))}
      </div>
      {(panels.includes('verdicts') || panels.includes('critic')) && (
        <Judging detail={detail} version={version} />
      )}
      <Distributions detail={detail} version={version} />
    </>
  )
}

interface CurvePanelProps {
  detail: RunDetail
  version: number
  title: string
  form: RegExp
  note: string
  shown: boolean
}

function CurvePanel({ detail, version, title, form, note, shown }: CurvePanelProps) {
  const source = useSource()
  const dark = useContext(DarkContext)
  const names = detail.metrics.flatMap(({ name }) => (form.test(name) ? name : []))
  const wanted = shown && names.length > 0
  const asked = useData(wanted ? `${title} ${detail.id} ${version}` : null, () =>
    source.metrics(detail.id, { names, points: 500 }),
  )
  if (!wanted) return null
  const shares = names.filter((name) => !/size|age/.test(name))
  const sizes = names.filter((name) => !shares.includes(name))
  return (
    <Section title={title} note={note}>
      <Await asked={asked}>
        {({ from, to, columns }) => (
          <>
            {[shares, sizes].map(
              (group, g) =>
                group.length > 0 && (
                  <LineChart
                    key={g}
                    title={g === 0 ? 'shares' : 'size and age'}
                    share={g === 0}
                    {...{ from, to }}
                    curves={group.map((name, i) => ({
                      label: name
                        .split('/')[1]!
                        .replace(/_frac$/, '')
                        .replaceAll('_', ' '),
                      color: lineColor(i, dark),
                      values: columns[name]?.mean ?? [],
                      low: group.length < 3 ? columns[name]?.min : undefined,
                      high: group.length < 3 ? columns[name]?.max : undefined,
                    }))}
                    open={(first, last) =>
                      go({
                        page: 'rollouts',
                        run: detail.id,
                        query: { from: first, to: last, ...author(detail) },
                      })
                    }
                  />
                ),
            )}
          </>
        )}
      </Await>
    </Section>
  )
}

function author(detail: RunDetail): { role?: string } {
  const role = detail.parts.find(({ part }) => part === 'author')?.name
  return role === undefined ? {} : { role }
}

function Judging({ detail, version }: { detail: RunDetail; version: number }) {
  const source = useSource()
  const dark = useContext(DarkContext)
  const asked = useData(`judging ${detail.id} ${version}`, () => source.judging(detail.id), unread)
  return (
    <Await asked={asked}>
      {(answer) => (
        <Section title={`Verdicts of the ${answer.role}`}>
          <Covered coverage={answer.coverage} />
          <div class="grid narrow-wide">
            <VerdictTable detail={detail} answer={answer} />
            <YesRates detail={detail} version={version} role={answer.role} />
          </div>
          <div class="squares">
            {answer.reliability.map((reliability) => (
              <ReliabilityDiagram
                key={reliability.of}
                reliability={reliability}
                color={roleColor(answer.role, detail.parts, dark)}
              />
            ))}
            {answer.roc.map((roc) => (
              <RocCurve key={roc.of} roc={roc} color={roleColor(answer.role, detail.parts, dark)} />
            ))}
          </div>
          {answer.planted && <PlantedErrors detail={detail} answer={answer} />}
        </Section>
      )}
    </Await>
  )
}

const yesRates = /^(verdicts\/yes_\w+_frac|critic\/(yes|evidence_yes|fooled)_frac|critic\/false_alarm)$/

/** `verdicts/yes_reference_frac` is that of references; `critic/yes_frac` that of all solutions. */
function yesLabel(name: string): string {
  const rest = name.split('/')[1]!.replace(/_frac$/, '')
  return rest === 'yes' ? 'solutions' : words(rest.replace(/^yes_/, ''))
}

function YesRates({ detail, version, role }: { detail: RunDetail; version: number; role: string }) {
  const source = useSource()
  const dark = useContext(DarkContext)
  const names = detail.metrics.flatMap(({ name }) => (yesRates.test(name) ? name : []))
  const asked = useData(names.length === 0 ? null : `yes ${detail.id} ${version}`, () =>
    source.metrics(detail.id, { names, points: 500 }),
  )
  if (names.length === 0) return null
  return (
    <Await asked={asked}>
      {({ from, to, columns }) => (
        <LineChart
          title="share of YES"
          share
          {...{ from, to }}
          curves={names.map((name, i) => ({
            label: yesLabel(name),
            color: lineColor(i, dark),
            values: columns[name]?.mean ?? [],
          }))}
          open={(first, last) =>
            go({ page: 'rollouts', run: detail.id, query: { from: first, to: last, role } })
          }
        />
      )}
    </Await>
  )
}

const kindWords: Record<VerdictRow['kind'], string> = {
  reference: 'references',
  right: 'of right answers',
  wrong: 'of wrong answers',
  generated: 'generated',
  planted: 'planted errors',
  twin: 'untouched twins',
}

function VerdictTable({ detail, answer }: { detail: RunDetail; answer: JudgingAnswer }) {
  return (
    <div class="scroll">
      <table class="verdicts">
        <caption>Share of YES by what was judged; in all rounds</caption>
        <thead>
          <tr>
            <th>judged</th>
            <th>YES</th>
            <th />
            <th>n</th>
            <th>unread</th>
          </tr>
        </thead>
        <tbody>
          {answer.verdicts.map(({ kind, yes, no, unread }) => (
            <tr key={kind}>
              <th scope="row">{kindWords[kind]}</th>
              <td>{percent(yes + no === 0 ? null : yes / (yes + no))}</td>
              <td class="meter-cell">
                <Meter share={yes / Math.max(1, yes + no)} label={`${yes} of ${yes + no}`} />
              </td>
              <td>{count(yes + no)}</td>
              <td>{count(unread)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Link to={{ page: 'rollouts', run: detail.id, query: { role: answer.role } }}>All judgments</Link>
    </div>
  )
}

function PlantedErrors({ detail, answer }: { detail: RunDetail; answer: JudgingAnswer }) {
  const dark = useContext(DarkContext)
  const { errors, called, located, twins, falseAlarms, recall } = answer.planted!
  const share = (part: number, whole: number) => percent(whole === 0 ? null : part / whole)
  return (
    <div class="grid narrow-wide">
      <table class="verdicts">
        <caption>Planted errors, and the same solutions untouched</caption>
        <tbody>
          <tr>
            <th scope="row">errors called WRONG</th>
            <td>{share(called, errors)}</td>
            <td class="note">of {count(errors)}</td>
          </tr>
          <tr>
            <th scope="row">errors found at their step</th>
            <td>{share(located, errors)}</td>
            <td class="note">of {count(errors)}</td>
          </tr>
          <tr>
            <th scope="row">false alarms</th>
            <td>{share(falseAlarms, twins)}</td>
            <td class="note">of {count(twins)}</td>
          </tr>
        </tbody>
      </table>
      <LineChart
        title={`recall of planted errors, ${recall.length === 0 ? '' : rounds(recall[0]!.from, recall.at(-1)!.to)}`}
        from={recall.map(({ from }) => from)}
        to={recall.map(({ to }) => to)}
        share
        curves={[
          {
            label: 'found at their step',
            color: roleColor(answer.role, detail.parts, dark),
            values: recall.map((each) => (each.errors === 0 ? null : each.located / each.errors)),
            dots: recall.length < 40,
          },
        ]}
        open={(from, to) =>
          go({ page: 'rollouts', run: detail.id, query: { from, to, role: answer.role, outcome: 'planted' } })
        }
      />
    </div>
  )
}
