/**
 * The form of a critique:
 *
 *     Step 1: 57+78=135 -> SOUND
 *     Step 2: 135+89=224 -> FLAWED
 *     LOGIC: 8
 *     STEPS: 5
 *     ANSWER: 0
 *     VERDICT: WRONG
 *     FIRST_ERROR: 2
 *     FEEDBACK: Add 135 and 89 again.
 */
export interface Critique {
  /** z_k over all steps of the solution. */
  sound: boolean[]
  /** Three scores, each 0 .. 10. */
  logic: number
  steps: number
  answer: number
  /** V: whether the solution is said to be correct. */
  correct: boolean
  /** Number of the first flawed step, from 1; null where none is said to be. */
  firstError: number | null
  feedback: string
}

const stepLine = /^step\s+(\d+)\s*[:.)].*(?:->|=>|→)\s*(sound|flawed)\s*\.?$/i
const labelLine = /^(logic|steps|answer|verdict|first_error|feedback)\s*:\s*(.*)$/i
const scoreValue = /^(\d+(?:\.\d+)?)(?:\s*\/\s*10)?$/

/**
 * Reads what stands after the last `</think>`. Null unless there is exactly one verdict for each of the solution's
 * `steps` steps, in order, and each label exactly once with a value that it may have: a critic that leaves a step out, says
 * two things or copies its instructions has said nothing. Marks of emphasis and lines of another form are passed over.
 */
export function parseCritique(text: string, steps: number): Critique | null {
  const thought = text.lastIndexOf('</think>')
  const lines = text
    .slice(thought < 0 ? 0 : thought + '</think>'.length)
    .split('\n')
    .map((line) => line.replace(/[*`#]/g, '').trim())

  const sound: boolean[] = []
  const values = new Map<string, string>()
  for (const [i, line] of lines.entries()) {
    const step = stepLine.exec(line)
    if (step) {
      if (Number(step[1]) !== sound.length + 1) return null
      sound.push(step[2]!.toLowerCase() === 'sound')
      continue
    }
    const [, label, value] = labelLine.exec(line) ?? []
    if (label === undefined) continue
    const name = label.toLowerCase()
    if (values.has(name)) return null
    const isFeedback = name === 'feedback'
    values.set(name, isFeedback ? [value, ...lines.slice(i + 1)].join('\n').trim() : value!.trim())
    if (isFeedback) break
  }
  return sound.length === steps ? readValues(sound, values) : null
}

function readValues(sound: boolean[], values: Map<string, string>): Critique | null {
  const scores = ['logic', 'steps', 'answer'].map((name) =>
    Number(scoreValue.exec(values.get(name) ?? '')?.[1] ?? -1),
  )
  if (scores.some((score) => score < 0 || score > 10)) return null
  const correct = oneOf(values.get('verdict'), { correct: true, wrong: false })
  const firstError = readFirstError(values.get('first_error'), sound.length)
  const feedback = values.get('feedback') ?? ''
  if (correct === undefined || firstError === undefined || feedback === '') return null
  const [logic, steps, answer] = scores as [number, number, number]
  return { sound, logic, steps, answer, correct, firstError, feedback }
}

function oneOf<T>(value: string | undefined, known: Record<string, T>): T | undefined {
  const name = value?.replace(/\.$/, '').toLowerCase() ?? ''
  return Object.hasOwn(known, name) ? known[name] : undefined
}

function readFirstError(value: string | undefined, steps: number): number | null | undefined {
  const [, number] = /^(?:step\s+)?(\d+|none)\.?$/i.exec(value ?? '') ?? []
  if (number === undefined) return undefined
  if (number.toLowerCase() === 'none') return null
  return Number(number) >= 1 && Number(number) <= steps ? Number(number) : undefined
}

/** c of one critique: (LOGIC + STEPS + ANSWER) / 30, 0 .. 1. */
export function scoreOf({ logic, steps, answer }: Critique): number {
  return (logic + steps + answer) / 30
}

/** The critique as text; `checks` is what is written of each step. */
export function printCritique(critique: Critique, checks: readonly string[]): string {
  const { sound, logic, steps, answer, correct, firstError, feedback } = critique
  return [
    ...sound.map((each, k) => `Step ${k + 1}: ${checks[k]} -> ${each ? 'SOUND' : 'FLAWED'}`),
    `LOGIC: ${logic}`,
    `STEPS: ${steps}`,
    `ANSWER: ${answer}`,
    `VERDICT: ${correct ? 'CORRECT' : 'WRONG'}`,
    `FIRST_ERROR: ${firstError ?? 'none'}`,
    `FEEDBACK: ${feedback}`,
  ].join('\n')
}
