import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { QuestionBuffer, type QuestionBufferOptions } from './question-buffer.js'

const free: QuestionBufferOptions = { cap: 0, eviction: 'none' }

function filled(n: number, options = free): QuestionBuffer {
  const buffer = new QuestionBuffer(options)
  for (let i = 0; i < n; i++) push(buffer, i)
  return buffer
}

function push(buffer: QuestionBuffer, i: number, passRate = 0.5): void {
  buffer.push({ question: `q${i}`, answer: `a${i}`, passRate, born: i })
}

const names = (buffer: QuestionBuffer) => buffer.toJSON().questions.map(({ question }) => question)
const taken = (buffer: QuestionBuffer, n: number) => buffer.take(n).map(({ question }) => question)
const copy = (buffer: QuestionBuffer, options = free) =>
  new QuestionBuffer(options, JSON.parse(JSON.stringify(buffer)))

/** A push, a take of n, or a visit of the last question taken with a pass rate of k sixths. */
const actions = fc.array(
  fc.oneof(
    fc.constant({ do: 'push' as const }),
    fc.record({ do: fc.constant('take' as const), n: fc.integer({ min: 1, max: 7 }) }),
    fc.record({ do: fc.constant('visit' as const), k: fc.integer({ min: 0, max: 6 }) }),
  ),
  { maxLength: 60 },
)
const options = fc.record({
  cap: fc.integer({ min: 0, max: 5 }),
  eviction: fc.constantFrom('none' as const, 'authors' as const),
})

describe('the pointer', () => {
  it('goes round, and gives a question again where there are too few', () => {
    const buffer = filled(4)
    expect(taken(buffer, 6)).toEqual(['q0', 'q1', 'q2', 'q3', 'q0', 'q1'])
    expect(taken(buffer, 3)).toEqual(['q2', 'q3', 'q0'])
  })

  it('persists while the buffer grows, and comes to new questions before it turns back', () => {
    const buffer = filled(3)
    expect(taken(buffer, 3)).toEqual(['q0', 'q1', 'q2'])
    push(buffer, 3)
    expect(taken(copy(buffer), 2)).toEqual(['q3', 'q0'])
    expect(taken(buffer, 1)).toEqual(['q3'])
    push(buffer, 4)
    expect(taken(buffer, 2)).toEqual(['q4', 'q0'])
  })

  it('finds nothing in an empty buffer', () => {
    expect(filled(0).take(6)).toEqual([])
  })

  it('reads every question before any of them again, however the buffer grows', () => {
    fc.assert(
      fc.property(actions, (steps) => {
        const buffer = filled(1)
        const reads: string[] = []
        let count = 1
        for (const step of steps) {
          if (step.do === 'push') push(buffer, count++)
          if (step.do === 'take') reads.push(...taken(buffer, step.n))
        }
        // Each turn reads q0, q1, ... up to a last one, and no turn ends before where the one before it ended.
        let last = -1
        let longest = 0
        for (const read of reads.map((name) => Number(name.slice(1)))) {
          if (read === 0) {
            expect(last + 1).toBeGreaterThanOrEqual(longest)
            longest = last + 1
          } else expect(read).toBe(last + 1)
          last = read
        }
      }),
    )
  })
})

describe('the cap', () => {
  it('keeps the newest, and the pointer with the question it stood before', () => {
    const buffer = filled(3, { cap: 3, eviction: 'none' })
    expect(taken(buffer, 2)).toEqual(['q0', 'q1'])
    push(buffer, 3)
    expect(names(buffer)).toEqual(['q1', 'q2', 'q3'])
    expect(taken(buffer, 3)).toEqual(['q2', 'q3', 'q1'])
  })

  it('skips what was dropped before it was read', () => {
    const buffer = filled(5, { cap: 2, eviction: 'none' })
    expect(taken(buffer, 3)).toEqual(['q3', 'q4', 'q3'])
  })
})

describe("the authors' eviction", () => {
  const authors = { cap: 0, eviction: 'authors' } as const
  const visit = (buffer: QuestionBuffer, ...rates: number[]) => {
    for (const rate of rates) buffer.visited(buffer.take(1)[0]!, rate)
  }

  it('drops what is solved every time', () => {
    const buffer = filled(3, authors)
    visit(buffer, 5 / 6, 1, 5 / 6)
    expect(names(buffer)).toEqual(['q0', 'q2'])
    expect(taken(buffer, 2)).toEqual(['q0', 'q2'])
  })

  it('drops what three visits in a row did not raise by more than 0.01', () => {
    const stuck = filled(1, authors)
    visit(stuck, 0.5, 0.51)
    expect(stuck.size).toBe(1)
    visit(stuck, 0.2)
    expect(stuck.size).toBe(0)

    const rising = filled(1, authors)
    visit(rising, 0.5, 0.5, 0.52, 0.5, 0.5)
    expect(rising.size).toBe(1)
    visit(rising, 0.52)
    expect(rising.size).toBe(0)
  })

  it('bears a question that was taken twice and dropped at the first', () => {
    const buffer = filled(1, authors)
    const [first, second] = buffer.take(2)
    buffer.visited(first!, 1)
    buffer.visited(second!, 1)
    expect(buffer.size).toBe(0)
  })

  it('is off by default: nothing is ever dropped', () => {
    const buffer = filled(2)
    visit(buffer, 1, 1, 0, 0, 0, 0)
    expect(buffer.size).toBe(2)
  })
})

describe('any play', () => {
  it('is the same after JSON, keeps to the cap, and never loses the pointer', () => {
    fc.assert(
      fc.property(options, actions, (given, steps) => {
        let stored = new QuestionBuffer(given)
        const held = new QuestionBuffer(given)
        let count = 0
        for (const step of steps) {
          stored = copy(stored, given)
          if (step.do === 'push') for (const buffer of [stored, held]) push(buffer, count)
          if (step.do === 'push') count++
          if (step.do === 'take') expect(taken(stored, step.n)).toEqual(taken(held, step.n))
          if (step.do === 'visit')
            for (const buffer of [stored, held])
              for (const question of buffer.take(1)) buffer.visited(question, step.k / 6)
          expect(stored.toJSON()).toEqual(held.toJSON())
          const { questions, pointer } = held.toJSON()
          if (given.cap > 0) expect(questions.length).toBeLessThanOrEqual(given.cap)
          expect(pointer).toBeGreaterThanOrEqual(0)
          expect(pointer).toBeLessThanOrEqual(questions.length)
          const born = questions.map((question) => question.born)
          expect(born).toEqual([...born].sort((a, b) => a - b))
        }
      }),
    )
  })

  it('reads the question that came next, whatever is dropped before or behind it', () => {
    fc.assert(
      fc.property(actions, (steps) => {
        const buffer = filled(3, { cap: 6, eviction: 'authors' })
        let count = 3
        for (const step of steps) {
          const before = buffer.toJSON()
          const next = before.questions[before.pointer]?.question
          if (step.do === 'push') {
            push(buffer, count++)
            const after = names(buffer)
            if (next !== undefined && after.includes(next)) expect(taken(copy(buffer), 1)).toEqual([next])
          } else if (step.do === 'visit') {
            const [question] = buffer.take(1)
            if (next !== undefined) expect(question!.question).toBe(next)
            const follower = copy(buffer).take(1)[0]?.question
            if (question) buffer.visited(question, step.k / 6)
            if (buffer.size > 0 && follower !== question?.question)
              expect(taken(copy(buffer), 1)).toEqual([follower])
          }
        }
      }),
    )
  })
})
