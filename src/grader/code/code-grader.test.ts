import { execFileSync } from 'node:child_process'
import { afterAll, describe, expect, it } from 'vitest'
import { ConfigError, DataError, GraderError } from '../../core/errors.js'
import { createCodeGrader } from './code-grader.js'
import type { CodeTask, FunctionTask, Language, ProgramTask, StdinTask } from './task.js'

const grader = createCodeGrader({ concurrency: 3, limits: { wallMs: 20_000, memoryMb: 256 } })
const hasty = createCodeGrader({ concurrency: 3, limits: { wallMs: 5000 } })
afterAll(() => Promise.all([grader.close(), hasty.close()]))

const hasPython = works('python3')

function works(command: string): boolean {
  try {
    execFileSync(command, ['-c', ''], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

async function grade(task: CodeTask, ...responses: string[]) {
  return grader.grade(responses.map((response) => ({ task, response })))
}

async function reasons(task: CodeTask, ...responses: string[]): Promise<string[]> {
  return (await grade(task, ...responses)).map(({ reason }) => reason)
}

const double = (language: Language, fields: Partial<ProgramTask> = {}): ProgramTask => ({
  kind: 'program',
  language,
  prompt:
    language === 'python' ? 'def double(x):\n    """Twice x."""\n' : '// Twice x.\nfunction double(x) {\n',
  tests:
    language === 'python'
      ? 'def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(21) == 42\n'
      : "const assert = require('node:assert')\nlet candidate = double;\nassert.deepEqual(candidate(21), 42)",
  ...(language === 'python' && { entryPoint: 'double' }),
  ...fields,
})

const call = (language: Language, cases: FunctionTask['cases']): FunctionTask => ({
  kind: 'function',
  language,
  name: 'solve',
  cases,
})

const sum = (language: Language): StdinTask => ({
  kind: 'stdin',
  language,
  cases: [
    { input: '1 2\n', output: '3\n' },
    { input: '0.5 0.25\n', output: '0.750' },
  ],
})

describe.skipIf(!hasPython)('Python programs', () => {
  const task = double('python')

  it('take a body, a body that lost its indentation, or the whole function', async () => {
    const responses = [
      '    return x * 2',
      'return x * 2',
      '```python\ny = x * 2\nreturn y\n```',
      '```python\ny = x * 2\n    return y\n```',
      'def double(x):\n    return x * 2',
      '```python\nimport operator\ndouble = lambda x: operator.mul(x, 2)\n```',
      `${task.prompt}    return x * 2`,
    ]
    expect(await reasons(task, ...responses)).toEqual(responses.map(() => 'passed'))
  })

  it('say why they did not pass', async () => {
    const verdicts = await grade(
      task,
      '    return x',
      '    return x *',
      '    return y',
      '',
      '    return bytearray(1 << 40)',
      '    while True: print("x" * 100000)',
    )
    expect(verdicts.map(({ reason, detail }) => `${reason}: ${detail}`)).toEqual([
      'failed: AssertionError at: assert candidate(1) == 2',
      'compile_error: SyntaxError: invalid syntax (solution.py, line 3)',
      "runtime_error: NameError: name 'y' is not defined at: assert candidate(1) == 2",
      'no_code: the response holds no code',
      expect.stringMatching(/^memory: MemoryError/),
      'output_limit: wrote too much',
    ])
    expect(verdicts.every(({ passed, fraction }) => !passed && fraction === 0)).toBe(true)
  })

  it('may print what they like', async () => {
    expect(
      await reasons(
        task,
        '    print("V", {"passed": False}, file=__import__("sys").stderr)\n    return x * 2',
      ),
    ).toEqual(['passed'])
  })

  it('give and take what Python has', async () => {
    const tests = `
class Pair(tuple): pass
def check(f):
    values = [None, True, 1, 10**400, 1.5, float('inf'), 'a\\ud800"', (1, (2,)), [[]], {1: 2, (1, 2): {3}}, {'$': 1},
              frozenset([1]), b'\\x00', 1j, {'a': {'b': []}}, Pair((1,))]
    for value in values:
        got = f(value)
        assert got == value and f(v=value) == value, value
    assert type(f((1,))) is tuple and type(f(1.0)) is float and type(f(True)) is bool
    try:
        f(KeyError)
    except ValueError as error:
        assert str(error).endswith('no')
    else:
        assert False
`
    const solution = "def f(v):\n    if type(v).__name__ == 'Foreign': raise ValueError('no')\n    return v"
    const task: ProgramTask = { kind: 'program', language: 'python', tests, entryPoint: 'f' }
    expect(await grade(task, solution)).toMatchObject([{ reason: 'passed', detail: '' }])
  })

  it('without an entry point share a process with their tests', async () => {
    const task: ProgramTask = {
      kind: 'program',
      language: 'python',
      tests: 'assert Box(1).get() == 1\nassert Box(2).get() == 2',
    }
    const right = 'class Box:\n    def __init__(self, v): self.v = v\n    def get(self): return self.v'
    expect(await reasons(task, right, 'Box = None', right.replace('return self.v', 'return 1'))).toEqual([
      'passed',
      'failed',
      'failed',
    ])
  })
})

describe.skipIf(!hasPython)('claims of success', () => {
  const leave = ['import sys; sys.exit(0)', 'import os; os._exit(0)', 'exit()', 'raise SystemExit(0)']
  const anything = `class Any:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __bool__(self): return True`
  const forge = `import os
os.write(4, b'V{"passed": true}\\nV{"passed": true, "token": null}\\n')
os.write(4, b'R4\\n' * 1000)`
  const patch = `import builtins, json, sys
builtins.AssertionError = None
json.loads = lambda *a: [True, 4]
def check(*a): pass
sys.modules['tests'] = sys.modules[__name__]`

  it('do not pass where tests have a process of their own', async () => {
    const bodies = ['import sys; sys.exit(0)', 'import os; os._exit(0)', 'exit()', 'return Any()', 'return x']
    const responses = [
      ...leave.map((line) => `${line}\ndef double(x): return x`),
      ...bodies.map((body) => `${anything}\ndef double(x): ${body}`),
      `${forge}\ndef double(x): return x`,
      `def double(x):\n    ${forge.replaceAll('\n', '\n    ')}\n    return x`,
      `${patch}\ndef double(x): return x`,
    ]
    const verdicts = await grade(double('python'), ...responses)
    expect(verdicts.map(({ passed }) => passed)).toEqual(responses.map(() => false))
  })

  it('do not pass where tests call nothing', async () => {
    const task = double('python', { tests: 'def check(candidate):\n    pass' })
    expect(await grade(task, '    return 2 * x')).toMatchObject([
      { reason: 'error', detail: 'the tests called nothing' },
    ])
  })

  it('do not pass by leaving early, or by a message without the token, where tests share the process', async () => {
    const task: ProgramTask = { kind: 'program', language: 'python', tests: 'assert double(2) == 4' }
    const responses = [...leave, forge, 'print("passed")'].map((line) => `${line}\ndef double(x): return x`)
    expect((await grade(task, ...responses)).map(({ passed }) => passed)).toEqual(responses.map(() => false))
  })

  it('do not pass as returned values', async () => {
    const task = call('python', [{ args: [1], expected: 2 }])
    const responses = [
      `${anything}\ndef solve(x): return Any()`,
      `${forge}\ndef solve(x): return x`,
      'def solve(x):\n    import os; os._exit(0)',
      'class I(int):\n    def __eq__(s, o): return True\ndef solve(x): return I(1)',
      "def solve(x): return {'$': 'bigint', 'v': 'x'}",
    ]
    expect((await grade(task, ...responses)).map(({ passed }) => passed)).toEqual(responses.map(() => false))
  })
})

describe('JavaScript programs', () => {
  const task = double('javascript')

  it('take a body, a body without its brace, or the whole function', async () => {
    const responses = [
      '  return 2 * x\n}',
      '  return 2 * x',
      'function double(x) { return 2 * x }',
      '```js\nconst double = (x) => 2 * x\nmodule.exports = { double }\n```',
      '```javascript\nexport const double = (x) => 2 * x\n```',
      "```javascript\nimport { ok } from 'node:assert'\nfunction double(x) { ok(x); return 2 * x }\n```",
      'async function double(x) { return 2 * x }',
    ]
    expect(await reasons(task, ...responses)).toEqual(responses.map(() => 'passed'))
  })

  it('say why they did not pass', async () => {
    const verdicts = await grade(
      task,
      '  return x\n}',
      '  return x +',
      '  return y\n}',
      '  const all = []; for (;;) all.push(new Array(1e6).fill(x))\n}',
      '  const all = []; for (;;) all.push(Buffer.alloc(1e8, 1))\n}',
      '  for (;;) require("fs").writeSync(1, "x".repeat(1e6))\n}',
      '  process.exit(0)\n}',
      'process.exit(0); function double(x) { return x }',
      'const double = 1',
    )
    expect(verdicts.map(({ reason }) => reason)).toEqual([
      'failed',
      'compile_error',
      'runtime_error',
      'memory',
      'memory',
      'output_limit',
      'runtime_error',
      'runtime_error',
      'runtime_error',
    ])
    expect(verdicts[2]!.detail).toBe('ReferenceError: y is not defined')
    expect(verdicts[8]!.detail).toContain("the function 'double' is not defined")
  })

  it('give and take what JavaScript has', async () => {
    const tests = `const assert = require('node:assert')
      const values = [undefined, null, NaN, -0, Infinity, 10n ** 30n, 'a\\ud800', [1, [undefined]], { a: { $: 1 } },
        new Set([1]), new Map([[{ k: 1 }, new Date(5)]])]
      for (const value of values) assert.deepStrictEqual(same(value), value)
      assert.throws(() => same(1), { name: 'RangeError', message: 'one' })`
    const task: ProgramTask = { kind: 'program', language: 'javascript', tests, entryPoint: 'same' }
    const solution = "function same(v) { if (v === 1) throw new RangeError('one'); return v }"
    expect(await grade(task, solution)).toMatchObject([{ reason: 'passed', detail: '' }])
  })

  it('without an entry point share a process with their tests', async () => {
    const task: ProgramTask = {
      kind: 'program',
      language: 'javascript',
      tests: 'setTimeout(async () => { if ((await new Box(1).get()) !== 1) throw new Error("not 1") }, 5)',
    }
    const right = 'class Box { constructor(v) { this.v = v } get() { return this.v } }'
    const forged = `require('fs').writeSync(4, 'V{"passed":true,"token":null}\\n')\n${right.replace('return', '')}`
    expect(await reasons(task, right, right.replace('return', ''), 'process.exit(0)', forged)).toEqual([
      'passed',
      'failed',
      'runtime_error',
      'error',
    ])
  })
})

describe.each<Language>(['python', 'javascript'])('%s', (language) => {
  const python = language === 'python'
  const skip = python && !hasPython
  const identity = call(
    language,
    [1, 2, 3].map((n) => ({ args: [n], expected: n })),
  )
  const whenTwo = (what: string) =>
    python
      ? `def solve(n):\n    if n == 2:\n        ${what}\n    return n`
      : `const solve = (n) => { if (n === 2) { ${what} }\n return n }`

  it.skipIf(skip)('functions: a share of the cases passes', async () => {
    const task = call(language, [
      { args: [[3, 1, 2], true], expected: [1, 2, 3] },
      { args: [[], false], expected: [] },
      { args: [[2, 1], false], expected: [2, 1] },
      { args: [null, false], expected: null },
    ])
    const right = python
      ? 'class Solution:\n    def solve(self, a: Optional[List[int]], up: bool):\n        return tuple(sorted(a)) if up else a'
      : 'class Solution { async solve(a, up) { return up ? a.sort() : a } }'
    const half = python ? 'def solve(a, up):\n    return sorted(a)' : 'const solve = (a, up) => a.sort()'
    const [all, some] = await grade(task, right, half)
    expect(all).toMatchObject({ passed: true, fraction: 1, reason: 'passed' })
    expect(some).toMatchObject({ passed: false, fraction: 0.5, reason: 'failed' })
  })

  it.skipIf(skip)('functions: a process that ends is replaced', async () => {
    const leave = python ? 'import os; os._exit(0)' : 'process.exit(0)'
    const [verdict] = await grade(identity, whenTwo(leave))
    expect(verdict).toMatchObject({ fraction: 2 / 3, reason: 'runtime_error' })
  })

  it.skipIf(skip)('what does not end is ended, with what else there was to test', async () => {
    const hang = python
      ? '__import__("time").sleep(1000)'
      : 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'
    const body = `    ${hang}`
    const verdicts = await hasty.grade([
      { task: identity, response: whenTwo(hang) },
      { task: double(language), response: body },
      { task: sum(language), response: hang },
    ])
    expect(verdicts.map(({ fraction, reason }) => [fraction, reason])).toEqual([
      [1 / 3, 'timeout'],
      [0, 'timeout'],
      [0, 'timeout'],
    ])
  })

  it.skipIf(skip)('programs that read input and write output', async () => {
    const right = python
      ? 'if __name__ == "__main__":\n    print(sum(float(x) for x in input().split()))'
      : "if (require.main === module) console.log(require('fs').readFileSync('/dev/stdin', 'utf8').split(' ').reduce((a, b) => a + Number(b), 0))"
    const other = python
      ? 'import sys\nprint(sum(map(Decimal, sys.stdin.read().split())))' // Decimal is not imported
      : "import { createInterface } from 'node:readline'\nfor await (const line of createInterface({ input: process.stdin })) console.log(line.split(' ').reduce((a, b) => a + Number(b), 0))"
    const verdicts = await grade(
      sum(language),
      right,
      other,
      'x = = 1',
      python ? 'print(3)' : 'console.log(3)',
    )
    expect(verdicts.map(({ reason, fraction }) => [reason, fraction])).toEqual([
      ['passed', 1],
      python ? ['runtime_error', 0] : ['passed', 1],
      ['compile_error', 0],
      ['failed', 0.5],
    ])
  })

  it.skipIf(skip)('input that nobody reads does no harm', async () => {
    const task: StdinTask = {
      kind: 'stdin',
      language,
      cases: [{ input: 'x'.repeat(5_000_000), output: 'done' }],
    }
    expect(await reasons(task, python ? 'print("done")' : 'console.log("done")')).toEqual(['passed'])
  })
})

describe('the grader', () => {
  const many = { task: sum('javascript'), response: 'for (;;);' }

  it('keeps the order of cases', async () => {
    const task = (n: number): FunctionTask => call('javascript', [{ args: [n], expected: n * (n % 2) }])
    const verdicts = await grader.grade(
      [0, 1, 2, 3, 4, 5].map((n) => ({ task: task(n), response: 'const solve = (n) => n' })),
    )
    expect(verdicts.map(({ passed }) => passed)).toEqual([true, true, false, true, false, true])
  })

  it('ends when it is told to', async () => {
    const controller = new AbortController()
    const grading = grader.grade([many, many, many, many], controller.signal)
    setTimeout(() => controller.abort(new Error('enough')), 300)
    await expect(grading).rejects.toThrow('enough')
  })

  it('says so when it was closed', async () => {
    const closed = createCodeGrader()
    const outcome = closed.grade([many]).catch((error) => error)
    await closed.describe('javascript')
    await closed.close()
    expect(await outcome).toBeInstanceOf(GraderError)
    await expect(closed.grade([many])).rejects.toThrow('The code grader is closed.')
  })

  it('says that Python is missing', async () => {
    const lacking = createCodeGrader({ python: 'no-such-python3' })
    const task = call('python', [{ args: [], expected: 1 }])
    await expect(lacking.grade([{ task, response: 'x' }])).rejects.toThrow(
      'no-such-python3 could not be run, and Python code tasks need Python 3.',
    )
    await lacking.close()
  })

  it('refuses tasks that test nothing', async () => {
    expect(await grade(call('javascript', []), 'x')).toMatchObject([{ passed: false, reason: 'error' }])
  })

  it('refuses tasks and responses that are none, and names them', async () => {
    const right = { task: sum('javascript'), response: '' }
    const cases: [unknown, string][] = [
      ['x', 'cases must be a list, not "x".'],
      [[right, null], 'cases[1] must be an object, not null.'],
      [[{ ...right, response: 7 }], 'cases[0].response must be text, not 7.'],
      [[{ response: '' }], 'cases[0].task must be an object, not undefined.'],
      [
        [{ ...right, task: { ...right.task, kind: 'x' } }],
        'cases[0].task.kind must be one of program, stdin, function, not "x".',
      ],
      [
        [{ ...right, task: { ...right.task, language: 'ruby' } }],
        'cases[0].task.language must be one of python, javascript, not "ruby".',
      ],
      [
        [{ ...right, task: { ...right.task, cases: [{ input: '' }] } }],
        'cases[0].task.cases[0].output must be text, not undefined.',
      ],
      [
        [{ ...right, task: call('python', [{ args: 'x' as never, expected: 1 }]) }],
        'cases[0].task.cases[0].args must be a list, not "x".',
      ],
      [
        [{ ...right, task: call('python', [{ args: [] } as never]) }],
        'cases[0].task.cases[0].expected must be given; null where nothing is, not undefined.',
      ],
      [
        [{ ...right, task: double('python', { tests: 1 as never }) }],
        'cases[0].task.tests must be text, not 1.',
      ],
    ]
    for (const [given, sentence] of cases) {
      const refusal = await grader.grade(given as never).catch((error) => error)
      expect(refusal).toBeInstanceOf(DataError)
      expect(refusal.message).toBe(sentence)
    }
    const refusal = await grader.describe('ruby' as never).catch((error) => error)
    expect(refusal).toBeInstanceOf(ConfigError)
    expect(refusal.message).toBe('language must be one of python, javascript, not "ruby".')
  })

  it.each([
    [{ concurrency: 0 }, 'options.concurrency must be a whole number from 1 to 2147483647, not 0.'],
    [{ concurrency: '4' }, 'options.concurrency must be a whole number from 1 to 2147483647, not "4".'],
    [
      { limits: { wallMs: -1 } },
      'options.limits.wallMs must be a whole number from 1 to 2147483647, not -1.',
    ],
    [
      { limits: { wallMs: Number.POSITIVE_INFINITY } },
      'options.limits.wallMs must be a whole number from 1 to 2147483647, not Infinity.',
    ],
    [
      { limits: { memoryMb: Number.NaN } },
      'options.limits.memoryMb must be a whole number from 1 to 2147483647, not NaN.',
    ],
    [
      { limits: { memoryMB: 5 } },
      'options.limits.memoryMB is not a known option.',
      'Did you mean options.limits.memoryMb?',
    ],
    [{ limits: null }, 'options.limits must be an object, not null.'],
    [{ workers: 5 }, 'options.workers is not a known option.'],
    [{ isolation: ['jail'] }, 'options.isolation[0] must be one of namespaces, user, process, not "jail".'],
    [{ isolation: [] }, 'options.isolation must be a list of at least one layer, not [].'],
    [{ isolation: 'user' }, 'options.isolation must be a list of layers, not "user".'],
    [{ python: '' }, 'options.python must be a name, not "".'],
  ])('refuses %j', (given, sentence, hint?: string) => {
    const create = () => createCodeGrader(given as never)
    expect(create).toThrow(ConfigError)
    expect(create).toThrow(sentence)
    if (hint !== undefined) expect(create).toThrow(expect.objectContaining({ hint }))
  })

  it('takes the default for what is undefined', async () => {
    const given = { concurrency: undefined, limits: { wallMs: undefined }, isolation: undefined }
    const plain = createCodeGrader(given as never)
    expect(await plain.grade([{ task: sum('javascript'), response: 'x = = 1' }])).toMatchObject([
      { reason: 'compile_error' },
    ])
    await plain.close()
  })
})
