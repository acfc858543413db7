/**
 * LiveCodeBench as it lies on the Hub: JSONL files of gigabytes whose lines hold packed test cases. A line is read
 * again when its problem is graded, so that no more than one problem's cases are in memory.
 */
import { open } from 'node:fs/promises'
import { inflateSync } from 'node:zlib'
import { z } from 'zod'
import { DataError, messageOf } from '../../core/errors.js'
import { parseExact } from '../../grader/code/compare.js'
import type { CodeTask } from '../../grader/code/task.js'
import { byteLines } from '../byte-lines.js'
import type { BenchmarkProblem } from './problems.js'

const ask = {
  stdin:
    'Write a Python program that reads from standard input and writes the answer to standard output. Answer with the whole program in one ```python block.',
  function:
    'Complete the Python code that follows the problem. Answer with all of it, imports included, in one ```python block.',
}

const row = z.looseObject({
  question_id: z.string(),
  question_content: z.string(),
  platform: z.string().optional(),
  difficulty: z.string().optional(),
  starter_code: z.string(),
  public_test_cases: z.string(),
  private_test_cases: z.string(),
  metadata: z.string(),
})

const cases = z.array(z.looseObject({ input: z.string(), output: z.string() }))

/** Throws DataError where a file cannot be read or a line is no problem. */
export async function readLiveCodeBench(paths: string[]): Promise<BenchmarkProblem[]> {
  const problems: BenchmarkProblem[] = []
  for (const path of paths) {
    let number = 0
    for await (const { line, start } of byteLines(path)) {
      const where = `${path}:${++number}`
      if (line.length > 0) problems.push(toProblem(line, where, { path, start, length: line.length }))
    }
  }
  return problems
}

interface Place {
  path: string
  start: number
  length: number
}

function toProblem(line: Buffer, where: string, place: Place): BenchmarkProblem {
  const { question_id, question_content, starter_code, difficulty, platform } = parse(line, where)
  const starter = starter_code.trim() === '' ? undefined : starter_code
  const problem =
    starter === undefined
      ? `${ask.stdin}\n\n${question_content}`
      : `${ask.function}\n\n${question_content}\n\n\`\`\`python\n${starter}\n\`\`\``
  return {
    id: question_id,
    kind: 'code',
    problem,
    answer: '',
    task: () => readTask(place, where),
    ...(difficulty !== undefined && { level: difficulty }),
    ...(platform !== undefined && { subject: platform }),
  }
}

async function readTask({ path, start, length }: Place, where: string): Promise<CodeTask> {
  const file = await open(path)
  try {
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, start)
    const { starter_code, public_test_cases, private_test_cases, metadata } = parse(buffer, where)
    const all = [...unpack(public_test_cases, where), ...unpack(private_test_cases, where)]
    if (starter_code.trim() === '') {
      return { kind: 'stdin', language: 'python', cases: all.map(({ input, output }) => ({ input, output })) }
    }
    const name = JSON.parse(metadata).func_name
    const calls = all.map(({ input, output }) => ({
      args: input.split('\n').map(parseExact),
      expected: parseExact(output),
    }))
    return { kind: 'function', language: 'python', name, cases: calls }
  } finally {
    await file.close()
  }
}

function parse(line: Buffer, where: string) {
  try {
    return row.parse(JSON.parse(line.toString('utf8')))
  } catch (cause) {
    throw new DataError(`${where} is no problem of LiveCodeBench: ${messageOf(cause).split('\n')[0]}`, {
      hint: 'Fetch the file again; a Git LFS pointer or a saved web page are often mistaken for it.',
      cause,
    })
  }
}

/** Test cases are JSON, or JSON that was pickled as one string, deflated and written in base64. */
function unpack(text: string, where: string): z.output<typeof cases> {
  try {
    const json = text.trimStart().startsWith('[')
      ? text
      : pickledString(inflateSync(Buffer.from(text, 'base64')))
    return cases.parse(JSON.parse(json))
  } catch (cause) {
    throw new DataError(`${where}: its test cases cannot be unpacked.`, {
      hint: 'Fetch the file again.',
      cause,
    })
  }
}

/** Opcodes of Python's pickle format that may stand before the one string: protocol and frame. */
const PROTO = 0x80
const FRAME = 0x95

/** The string of a pickle that holds one string and nothing else (protocols 2 to 5). */
export function pickledString(bytes: Buffer): string {
  let at = bytes[0] === PROTO ? 2 : 0
  if (bytes[at] === FRAME) at += 9
  const opcode = String.fromCharCode(bytes[at++]!)
  const sizes: Record<string, [width: number, size: () => number]> = {
    X: [4, () => bytes.readUInt32LE(at)],
    '\x8c': [1, () => bytes[at]!],
    '\x8d': [8, () => Number(bytes.readBigUInt64LE(at))],
  }
  const found = sizes[opcode]
  if (found === undefined) throw new DataError(`A pickled string was expected, not the opcode ${opcode}.`)
  const [width, size] = found
  const length = size()
  return bytes.toString('utf8', at + width, at + width + length)
}
