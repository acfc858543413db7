import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../test/support/folders.js'
import { DataError } from '../../core/errors.js'
import { pickledString, readLiveCodeBench } from './livecodebench.js'
import { loadBenchmark } from './load.js'

/** Python's pickle.dumps of a text, protocol 4. */
function pickled(text: string): Buffer {
  const utf8 = Buffer.from(text)
  const short = utf8.length < 256
  const size = Buffer.alloc(short ? 1 : 4)
  if (short) size[0] = utf8.length
  else size.writeUInt32LE(utf8.length)
  const body = Buffer.concat([Buffer.from(short ? [0x8c] : [0x58]), size, utf8, Buffer.from([0x94, 0x2e])])
  const frame = Buffer.alloc(9, 0x95)
  frame.writeBigUInt64LE(BigInt(body.length), 1)
  return Buffer.concat([Buffer.from([0x80, 4]), frame, body])
}

const packed = (cases: object[]) => deflateSync(pickled(JSON.stringify(cases))).toString('base64')

const base = { platform: 'codeforces', difficulty: 'easy', starter_code: '', metadata: '{}', contest_id: 'c' }
const sum = {
  ...base,
  question_id: '1_A',
  question_content: 'Add two numbers. Größe: ∑.',
  public_test_cases: JSON.stringify([{ input: '1 2\n', output: '3\n', testtype: 'stdin' }]),
  private_test_cases: packed([{ input: `${'9 '.repeat(400)}\n`, output: '18\n', testtype: 'stdin' }]),
}
const solution = {
  ...base,
  question_id: '2_B',
  question_content: 'Join.',
  starter_code: 'class Solution:\n    def join(self, a: List[int], s: str) -> str:\n        ',
  metadata: '{"func_name": "join"}',
  public_test_cases: JSON.stringify([{ input: '[1, 2]\n"x"', output: '"1x2"', testtype: 'functional' }]),
  private_test_cases: packed([{ input: '[12345678901234567890]\n"-"', output: '"12345678901234567890"' }]),
}

function file(text: string): string {
  const folder = join(temporaryFolder(), 'livecodebench')
  mkdirSync(folder)
  const path = join(folder, 'test.jsonl')
  writeFileSync(path, text)
  return path
}

describe('LiveCodeBench', () => {
  it('reads programs and functions, and their test cases when they are needed', async () => {
    const path = file(`${JSON.stringify(sum)}\n\n${JSON.stringify(solution)}`)
    const [first, second] = await readLiveCodeBench([path])
    expect(first).toMatchObject({ id: '1_A', kind: 'code', level: 'easy', subject: 'codeforces' })
    expect(first!.problem).toContain('standard input')
    expect(await first!.task!()).toEqual({
      kind: 'stdin',
      language: 'python',
      cases: [
        { input: '1 2\n', output: '3\n' },
        { input: `${'9 '.repeat(400)}\n`, output: '18\n' },
      ],
    })
    expect(second!.problem).toContain('```python\nclass Solution:')
    expect(await second!.task!()).toEqual({
      kind: 'function',
      language: 'python',
      name: 'join',
      cases: [
        { args: [[1, 2], 'x'], expected: '1x2' },
        { args: [[12345678901234567890n], '-'], expected: '12345678901234567890' },
      ],
    })
  })

  it('is a benchmark of a data folder, all of its files wanted', async () => {
    const path = file(JSON.stringify(sum))
    const data = join(path, '../..')
    const heldoutProblems = async () => []
    await expect(loadBenchmark('livecodebench', { data, heldoutProblems })).rejects.toThrow(
      /test2\.jsonl does not exist/,
    )
    for (const number of [2, 3, 4, 5, 6]) {
      const row = { ...sum, question_id: `${number}`, question_content: `Problem ${number}.` }
      writeFileSync(join(data, `livecodebench/test${number}.jsonl`), JSON.stringify(row))
    }
    const { problems, notes } = await loadBenchmark('livecodebench', { data, heldoutProblems })
    expect(problems.map(({ id }) => id)).toEqual(['1_A', '2', '3', '4', '5', '6'])
    expect(notes).toEqual(['livecodebench: 6 problems are there, where the set is known to have 1055.'])
  })

  it('names the line that is no problem, and cases that cannot be unpacked', async () => {
    const error: unknown = await readLiveCodeBench([file(`${JSON.stringify(sum)}\n{"a": 1}\n`)]).catch(
      (e) => e,
    )
    expect(error).toBeInstanceOf(DataError)
    expect((error as DataError).message).toMatch(/test\.jsonl:2 is no problem of LiveCodeBench/)
    const [broken] = await readLiveCodeBench([file(JSON.stringify({ ...sum, private_test_cases: 'AAAA' }))])
    await expect(broken!.task!()).rejects.toThrow(/test\.jsonl:1: its test cases cannot be unpacked/)
  })

  it('unpacks what Python pickles', () => {
    // pickle.dumps('Größe', 4) and pickle.dumps('Größe', 2)
    for (const hex of [
      '8004950b000000000000008c074772c3b6c39f65942e',
      '800258070000004772c3b6c39f6571002e',
    ]) {
      expect(pickledString(Buffer.from(hex, 'hex'))).toBe('Größe')
    }
    expect(() => pickledString(Buffer.from('80044b012e', 'hex'))).toThrow(/pickled string was expected/)
  })
})
