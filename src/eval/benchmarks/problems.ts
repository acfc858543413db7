/** Rows as problems: which column is what, answers as text, choices in a seeded order. */
import { DataError } from '../../core/errors.js'
import { randomStream } from '../../core/random.js'
import { fill } from '../../games/chat.js'
import type { CodeTask } from '../../grader/code/task.js'
import { choiceLabel } from '../../grader/extract/choice.js'
import type { Columns, Kind } from './registry.js'
import { type Row, readRows } from './rows.js'

export interface BenchmarkProblem {
  id: string
  kind: Kind
  /** What is asked, choices and the wanted form of the answer included. */
  problem: string
  /** The true answer; of a choice its letter; of a code task a solution, where one is known. */
  answer: string
  /** Values of the choices A, B, C ... */
  choices?: string[]
  level?: string
  subject?: string
  /** Tests of a code task, read when they are needed. */
  task?: () => Promise<CodeTask>
}

interface Reading {
  paths: string[]
  columns: Columns
  kind: Kind
  /** Names the problems where they have no ids, and the set in errors. */
  name: string
  answerAfter?: string
  ask?: string
  choiceSeed?: number
}

/** Throws DataError where a row has no problem, two have the same id, or no row has an answer. */
export async function readProblems(
  reading: Reading,
): Promise<{ problems: BenchmarkProblem[]; unfit: number }> {
  const { paths, columns } = reading
  const wanted = Object.values(columns).flat() as string[]
  const problems: BenchmarkProblem[] = []
  const ids = new Map<string, string>()
  let rows = 0
  for (const path of paths) {
    let ofFile = 0
    for await (const row of readRows(path, wanted)) {
      const place = rows++
      const where = `${path}, row ${++ofFile}`
      const problem = toProblem(row, place, where, reading)
      if (problem === undefined) continue
      const other = ids.get(problem.id)
      if (other !== undefined) {
        throw new DataError(`${where}: the id ${problem.id} is that of ${other} as well.`, {
          hint: 'Give each problem an id of its own, or none of them one.',
        })
      }
      ids.set(problem.id, where)
      problems.push(problem)
    }
  }
  if (problems.length === 0) {
    throw new DataError(`${paths.join(', ')} holds no problem with an answer.`, {
      hint: `Rows need the keys "${columns.problem}" and "${columns.answer}".`,
    })
  }
  return { problems, unfit: rows - problems.length }
}

/** Undefined where the row has no answer. */
function toProblem(row: Row, i: number, where: string, reading: Reading): BenchmarkProblem | undefined {
  const { columns, ask } = reading
  const question = row[columns.problem]
  if (typeof question !== 'string' || question.trim() === '') {
    throw new DataError(`${where}: key "${columns.problem}" holds no text.`, {
      hint: `The keys found there are: ${Object.keys(row).join(', ')}.`,
    })
  }
  const answer = answerOf(row[columns.answer], reading.answerAfter)
  if (answer === '') return undefined
  const id = textOf(columns.id && row[columns.id]) || `${i}`
  const about = {
    ...optional('level', textOf(columns.level && row[columns.level])),
    ...optional('subject', textOf(columns.subject && row[columns.subject])),
  }
  const choices = choicesOf(row, id, answer, where, reading)
  if (choices) {
    const letters = choices.all.map((choice, place) => `${letter(place)}. ${choice}`).join('\n')
    const problem = `${question}\n\n${letters}`
    return { id, kind: 'choice', problem, answer: choices.right, choices: choices.all, ...about }
  }
  const problem = ask === undefined ? question : fill(ask, { problem: question })
  return { id, kind: reading.kind, problem, answer, ...about, ...taskOf(row, question, columns) }
}

function taskOf(row: Row, prompt: string, { test, entryPoint }: Columns): Pick<BenchmarkProblem, 'task'> {
  const [tests, name] = [test && row[test], entryPoint && row[entryPoint]]
  if (typeof tests !== 'string' || typeof name !== 'string') return {}
  return { task: async () => ({ kind: 'program', language: 'python', prompt, tests, entryPoint: name }) }
}

/** Choices that a row lists itself stay in order; those made of a right and wrong ones are shuffled. */
function choicesOf(
  row: Row,
  id: string,
  answer: string,
  where: string,
  { columns, choiceSeed = 0 }: Reading,
) {
  if (columns.wrong) {
    const values = [answer, ...columns.wrong.map((column) => textOf(row[column]))]
    const order = randomStream(choiceSeed, 'choices', id).shuffle(values.map((_, place) => place))
    return { all: order.map((place) => values[place]!), right: letter(order.indexOf(0)) }
  }
  const { choices } = row
  if (!Array.isArray(choices) || choices.length < 2) return undefined
  const all = choices.map(textOf)
  const label = /^[a-z]$/i.test(answer) ? answer.toUpperCase() : choiceLabel(answer)
  const named = label !== undefined && label <= letter(all.length - 1)
  if (!named && !all.some((choice) => folded(choice) === folded(answer))) {
    throw new DataError(
      `${where}: key "${columns.answer}" holds ${answer}, which is none of ${all.length} choices.`,
      {
        hint: `It has to be a letter from A to ${letter(all.length - 1)}, or a choice as "choices" spells it.`,
      },
    )
  }
  return { all, right: answer }
}

function folded(text: string): string {
  return text.toLowerCase().replace(/\s+/g, ' ')
}

function letter(place: number): string {
  return String.fromCharCode(65 + place)
}

function answerOf(value: unknown, after: string | undefined): string {
  const text = Array.isArray(value) ? value.map(textOf).join(', ') : textOf(value)
  if (after === undefined) return text
  const at = text.lastIndexOf(after)
  return at < 0 ? '' : text.slice(at + after.length).trim()
}

/** Trimmed text of a text or number, empty where there is none. */
function textOf(value: unknown): string {
  const isText = typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint'
  return isText ? `${value}`.trim() : ''
}

function optional<Name extends string>(name: Name, value: string): { [name in Name]?: string } {
  return (value === '' ? {} : { [name]: value }) as { [name in Name]?: string }
}
