import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { DataError } from '../core/errors.js'
import { projectRoot } from '../core/paths.js'
import { loadProblems, loadQuestions } from './problems.js'

const folder = mkdtempSync(join(tmpdir(), 'sparring-problems-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function file(content: string): string {
  const path = join(folder, 'problems.jsonl')
  writeFileSync(path, content)
  return path
}

describe('loadProblems', () => {
  it('keeps what a line holds, numbers what has no id, and turns numbers into text', async () => {
    const path = file('{"problem":"1+1","answer":2,"level":3}\n{"id":7,"problem":"2+2","answer":"4"}')
    expect(await loadProblems(path)).toEqual([
      { id: '0', problem: '1+1', answer: '2', level: 3 },
      { id: '7', problem: '2+2', answer: '4' },
    ])
  })

  it.each([
    ['{"problem":"1+1"}', ':1: key "answer" is missing.'],
    ['{"question":"1+1","answer":"2"}', 'key "problem"'],
    ['{"problem":"","answer":"2"}', 'key "problem"'],
    ['{"problem":"x","answer":""}', 'key "answer"'],
    ['{"problem":"x","answer":null}', 'key "answer": must be text or a number, and not empty.'],
    ['', 'holds no problems'],
  ])('refuses %s', async (content, part) => {
    const error: unknown = await loadProblems(file(content)).catch((cause) => cause)
    expect(error).toBeInstanceOf(DataError)
    expect((error as DataError).message).toContain(part)
  })
})

describe('loadQuestions', () => {
  it('takes lines with and without an answer', async () => {
    const path = file('{"problem":"1+1","answer":2,"level":3}\n{"problem":"2+2"}')
    expect(await loadQuestions(path)).toEqual([{ problem: '1+1', answer: '2' }, { problem: '2+2' }])
  })
})

const shared = join(projectRoot(), '..', 'shared', 'data', 'gsm8k_test.jsonl')

describe.skipIf(!existsSync(shared))(`a benchmark file (skipped where ${shared} is absent)`, () => {
  it('is read whole', async () => {
    expect((await loadProblems(shared)).length).toBe(1319)
  })
})
