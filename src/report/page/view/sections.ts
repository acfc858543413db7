/** Which metrics stand in one chart, and which charts in one section. */
import type { MetricInfo, Role } from '../../api/run.js'

export interface ChartLine {
  metric: string
  label: string
  role: string | null
  /** Metrics that are the ends of its interval. */
  ends?: [string, string]
}

export interface ChartPlan {
  title: string
  lines: ChartLine[]
  /** Every value is a share of something. */
  share: boolean
}

export interface SectionPlan {
  title: string
  charts: ChartPlan[]
}

/** A section takes the charts whose first words are among its own, in this order; the last takes the rest. */
const sections: readonly (readonly [string, readonly RegExp[]])[] = [
  ['Yardsticks', [/^heldout|^anchors?\b|^gap\b/]],
  ['Reward', [/^reward\/mean/, /^reward\//, /^group\//]],
  [
    'Pass rate',
    [/^pass_rate/, /^questions/, /^labels/, /^diversity/, /^texts/, /^vote/, /^pool/, /^problems/],
  ],
  ['Judges', [/^verdicts/, /^judging|^frozen|^calibration|^audit|^slices/, /^critic/, /^evidence|^revision/]],
  [
    'Policy',
    [/^policy\/entropy$/, /^policy\/kl/, /^clip|^ratio/, /^policy/, /^loss|^validation_loss/, /^optim/],
  ],
  ['Lengths', [/^len\//, /^verdict\//]],
  ['Buffer', [/^buffer|^turn|^data/]],
  ['Speed', [/^time/]],
]

/** Families of names without a role that make one chart each, by what they have in common. */
const families: readonly RegExp[] = [
  /^heldout\/(accuracy|greedy)$/,
  /^heldout\/\w+_frac$/,
  /^questions\/\w+_frac$/,
  /^labels\//,
  /^verdicts\/yes_\w+$/,
  /^audit\//,
  /^calibration\/\w+_ece$/,
  /^calibration\/\w+_brier$/,
  /^frozen\//,
  /^judging\//,
]

/** Families within a role: several lines of one role in a chart of its own. */
const spreads: readonly (readonly [RegExp, string])[] = [
  [/^reward\/p\d+$/, 'reward: tenth and ninetieth percentile'],
  [/^group\/(mixed|all_good|all_bad)$/, 'groups: mixed, all good, all bad'],
  [/^len\/p\d+$/, 'length: median and 95th percentile'],
  [/^clip\//, 'clipped tokens, low and high'],
  [/^verdict\//, 'verdicts on the answers'],
  [/^ratio\//, 'ratio: mean and largest'],
]

export function planSections(metrics: readonly MetricInfo[], roles: readonly Role[]): SectionPlan[] {
  const written = new Set(metrics.map(({ name }) => name))
  const charts = new Map<string, ChartPlan & { key: string }>()
  for (const { name, role } of metrics) {
    if (/^pass_rate\/p\d+$/.test(name) || /_(low|high)$/.test(name) || name === 'step') continue
    const within = role === null ? name : name.slice(role.length + 1)
    const spread = role !== null && spreads.find(([form]) => form.test(within))
    const family = role === null && families.find((form) => form.test(within))
    const key = spread ? `${spread[1]} of ${role}` : family ? String(family) : within
    const chart = charts.get(key) ?? {
      key: within,
      title: spread ? `${spread[1]} of ${role}` : family ? familyTitle(within) : titleOf(within),
      lines: [],
      share: true,
    }
    chart.share &&= isShare(within)
    const label = spread || family ? within.split('/').slice(1).join('/') : (role ?? titleOf(within))
    const ends: [string, string] = [`${name}_low`, `${name}_high`]
    chart.lines.push({
      metric: name,
      label: label.replace(/_frac$/, '').replaceAll('_', ' '),
      role,
      ...(ends.every((end) => written.has(end)) && { ends }),
    })
    charts.set(key, chart)
  }
  const order = roles.map(({ name }) => name)
  for (const chart of charts.values()) {
    chart.lines.sort((a, b) => order.indexOf(a.role ?? '') - order.indexOf(b.role ?? ''))
  }
  return arrange([...charts.values()])
}

function arrange(charts: (ChartPlan & { key: string })[]): SectionPlan[] {
  const place = ({ key }: { key: string }): readonly [number, number] => {
    for (const [s, [, forms]] of sections.entries()) {
      const f = forms.findIndex((form) => form.test(key))
      if (f >= 0) return [s, f]
    }
    return [sections.length, 0]
  }
  const placed = charts.map((chart) => ({ chart, place: place(chart) }))
  return [...sections.map(([title]) => title), 'Other'].flatMap((title, s) => {
    const own = placed
      .filter((each) => each.place[0] === s)
      .sort((a, b) => a.place[1] - b.place[1])
      .map(({ chart: { key: _, ...chart } }) => chart)
    return own.length === 0 ? [] : { title, charts: own }
  })
}

function isShare(name: string): boolean {
  return /_frac$|^heldout\/(accuracy|greedy)$|^group\/|^labels\/|^questions\/|^pass_rate\/mean$|^diversity\//.test(
    name,
  )
}

/** What the names of a family have in common, as words. */
function familyTitle(name: string): string {
  const [first, rest = ''] = name.split('/')
  if (first === 'heldout')
    return rest.endsWith('_frac') ? 'held-out: truncated, unanswered' : 'held-out accuracy'
  if (first === 'calibration') return rest.endsWith('_ece') ? 'calibration error' : 'Brier score'
  return rest.startsWith('yes_') ? `${first}: share of YES` : first!
}

function titleOf(name: string): string {
  return name
    .replace(/_frac$/, '')
    .replaceAll('_', ' ')
    .replace('/', ': ')
    .replace(': mean', '')
}
