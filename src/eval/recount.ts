/** Whether a results file agrees with itself: sums are taken anew from its samples. */
import { z } from 'zod'
import { makeReport, type Report, type SampleRow } from './report.js'
import type { ResultsHead } from './results.js'

const count = z.number().int().min(0)
const headSchema = z.looseObject({
  settings: z.looseObject({}),
  notes: z.array(z.string()),
  report: z.looseObject({ accuracy: z.number(), seconds: z.number() }),
  problems: z
    .array(
      z.looseObject({
        id: z.string(),
        answer: z.string(),
        n: count,
        right: count,
        level: z.string().optional(),
        subject: z.string().optional(),
        problem: z.string().optional(),
      }),
    )
    .min(1),
})
const sampleSchema = z.looseObject({
  problem: z.string(),
  sample: count,
  right: z.boolean(),
  extracted: z.string().nullable(),
  reason: z.string(),
  tokens: z.number(),
  stop: z.string(),
})

/** Largest difference that is taken for rounding. */
const ROUNDING = 1e-9

/** Takes samples one at a time, then tells what disagrees. */
export class Recount {
  readonly #samples: (Omit<SampleRow, 'problem'> & { problem: string })[] = []
  readonly #rows: SampleRow[] = []

  /** Throws ZodError where a sample is none. */
  add(sample: unknown): void {
    const { problem, sample: number, right, extracted, reason, tokens, stop } = sampleSchema.parse(sample)
    this.#samples.push({ problem, sample: number, right, extracted, reason, tokens, stop })
  }

  /**
   * The head with its report as the samples give it; the majority and the time, which cannot be taken from them, as
   * they are. A text instead says what disagrees. Throws ZodError where the head is none.
   */
  async check(head: ResultsHead): Promise<ResultsHead | string> {
    headSchema.parse(head)
    const { problems, report } = head
    const wrong = problems.find(({ right, n }) => right > n)
    if (wrong) return `problem ${wrong.id} has ${wrong.right} right of ${wrong.n}`
    const places = new Map(problems.map(({ id }, i) => [id, i]))
    if (places.size < problems.length) return 'two problems have the same id'
    const seen = new Set<string>()
    for (const { problem, ...row } of this.#samples) {
      const place = places.get(problem)
      if (place === undefined) return `a sample is of problem ${problem}, which is not listed`
      const key = `${place}.${row.sample}`
      if (seen.has(key)) return `problem ${problem} has sample ${row.sample} twice`
      seen.add(key)
      this.#rows.push({ ...row, problem: place })
    }
    const miscounted = this.#miscounted(head)
    if (miscounted !== undefined) return miscounted
    const again = await makeReport(problems, this.#rows, report.seconds, undefined)
    const name = difference(report, again)
    if (name !== undefined) {
      return `the report's ${name} is ${said(report, name)}, and its samples give ${said(again, name)}`
    }
    return { ...head, report: { ...again, ...(report.majority && { majority: report.majority }) } }
  }

  #miscounted({ problems }: ResultsHead): string | undefined {
    const counts = problems.map(() => ({ n: 0, right: 0 }))
    for (const { problem, right } of this.#rows) {
      counts[problem]!.n++
      if (right) counts[problem]!.right++
    }
    const uneven = problems.find(({ n }) => n !== problems[0]!.n || n === 0)
    if (uneven) return `problem ${uneven.id} has ${uneven.n} samples, and the first ${problems[0]!.n}`
    const i = problems.findIndex(({ n, right }, i) => n !== counts[i]!.n || right !== counts[i]!.right)
    if (i < 0) return undefined
    const { id, n, right } = problems[i]!
    return `problem ${id} has ${right} right of ${n}, and its samples give ${counts[i]!.right} of ${counts[i]!.n}`
  }
}

const compared = ['accuracy', 'n', 'samples', 'truncatedFrac', 'unansweredFrac', 'unparsableGold'] as const
type Name = (typeof compared)[number] | 'passAtK' | 'bySample' | 'reasons' | 'tokens'

function difference(a: Report, b: Report): Name | undefined {
  const single = compared.find((name) => !close(a[name], b[name]))
  if (single !== undefined) return single
  return (['passAtK', 'bySample', 'reasons', 'tokens'] as const).find((name) => {
    const [mine, other] = [numbers(a[name]), numbers(b[name])]
    return mine.length !== other.length || mine.some((value, i) => !close(value, other[i]))
  })
}

function close(a: unknown, b: unknown): boolean {
  return Math.abs(Number(a) - Number(b)) <= ROUNDING
}

/** Values by name, ends of intervals left out. */
function numbers(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [value]
  return Object.entries(value)
    .filter(([name]) => name !== 'low' && name !== 'high')
    .sort(([x], [y]) => (x < y ? -1 : 1))
    .flatMap(([, inner]) => numbers(inner))
}

function said(report: Report, name: Name): string {
  return JSON.stringify(report[name])
}
