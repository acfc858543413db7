/** Programs that mean harm, behind every layer that this machine has. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createCodeGrader } from './code-grader.js'
import type { Isolation } from './isolation.js'
import type { CodeVerdict, FunctionTask, Language } from './task.js'

const secret = 'swordfish-of-the-parent'
/** Marks all that is started here, since a limit is inherited. */
const OPEN_FILES = 97
const limits = { wallMs: 30_000, memoryMb: 300, outputMb: 4, openFiles: OPEN_FILES }
/** For programs that have all their time and end by it; others must not, however busy the machine is. */
const shortMs = 2000

const folder = mkdtempSync(join(tmpdir(), 'sparring-hostile-'))
const temporary = join(folder, 'tmp')
const guarded = join(folder, 'guarded')
mkdirSync(temporary)
mkdirSync(guarded)
chmodSync(folder, 0o755)
chmodSync(temporary, 0o1777)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Layer {
  name: string
  isolation: Isolation
  /** Sparring runs as a user without rights, instead of as root. */
  ordinary: boolean
}

const root = process.getuid?.() === 0
const layers: Layer[] = [
  { name: 'namespaces', isolation: 'namespaces', ordinary: false },
  ...(root
    ? ([
        { name: 'namespaces of an ordinary user', isolation: 'namespaces', ordinary: true },
        { name: 'a user id of its own', isolation: 'user', ordinary: false },
      ] as const)
    : []),
  { name: 'limits alone', isolation: 'process', ordinary: root },
]

/** Sparring in a process of its own, whose environment holds a secret. */
function parentCommand({ isolation, ordinary }: Layer, then: string): [string, string[]] {
  const url = JSON.stringify(new URL('./code-grader.js', import.meta.url).href)
  const options = { limits, isolation: [isolation], concurrency: 6 }
  const short = { ...options, limits: { ...limits, wallMs: shortMs } }
  const code = `import { createInterface } from 'node:readline'
    import { createCodeGrader } from ${url}
    const grader = createCodeGrader(${JSON.stringify(options)})
    const short = createCodeGrader(${JSON.stringify(short)})
    ${then}`
  const node = [process.execPath, '--expose-gc', '--input-type=module', '-e', code]
  const lowered = [
    'setpriv',
    '--reuid=54321',
    '--regid=54321',
    '--clear-groups',
    'env',
    'PATH=/usr/local/bin:/usr/bin:/bin',
  ]
  const [command, ...args] = [...(ordinary ? lowered : []), ...node]
  return [command!, args]
}

const environment = { ...process.env, SECRET: secret, TMPDIR: temporary }

function isAvailable(layer: Layer): boolean {
  const [command, args] = parentCommand(layer, "await grader.describe('python')")
  try {
    execFileSync(command, args, { env: environment, stdio: 'ignore', timeout: 60_000 })
    return true
  } catch {
    return false
  }
}

/** Processes under our limit on open files that have not ended. */
function alive(): string[] {
  const read = (pid: string, name: string) => {
    try {
      return readFileSync(`/proc/${pid}/${name}`, 'latin1')
    } catch {
      return ''
    }
  }
  const marked = new RegExp(`^Max open files\\s+${OPEN_FILES}\\s`, 'm')
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && marked.test(read(pid, 'limits')))
    .filter((pid) => /^State:\s+[^ZX\s]/m.test(read(pid, 'status')))
    .map((pid) => read(pid, 'cmdline').slice(0, 60))
}

describe.runIf(existsSync('/proc/self/limits'))('hostile programs', () => {
  it('meet the strongest layer that the system allows', async () => {
    const namespaces = ['--pid', '--fork', '--mount', '--net', ...(root ? [] : ['--user', '--map-root-user'])]
    const allowed = (() => {
      try {
        execFileSync('unshare', [...namespaces, 'mount', '-t', 'tmpfs', 'none', '/sys'], { stdio: 'ignore' })
        return true
      } catch {
        return false
      }
    })()
    const grader = createCodeGrader()
    const { isolation } = await grader.describe('javascript')
    await grader.close()
    expect(isolation === 'namespaces').toBe(allowed)
  })

  for (const layer of layers) describe.runIf(isAvailable(layer))(`behind ${layer.name}`, () => attacks(layer))
})

function attacks(layer: Layer): void {
  const { isolation } = layer
  const jailed = isolation === 'namespaces'
  let parent: ChildProcess
  let lines: Interface
  let gone: Promise<never>

  beforeAll(() => {
    const [command, args] = parentCommand(
      layer,
      `for await (const line of createInterface({ input: process.stdin })) {
         const { cases, timed } = JSON.parse(line)
         const before = held()
         let most = before
         const look = setInterval(() => { most = Math.max(most, held()) }, 50)
         const verdicts = await (timed ? short : grader).grade(cases)
         clearInterval(look)
         console.log(JSON.stringify({ verdicts, kept: most - before }))
       }
       // What was dropped but not yet collected is not held.
       function held() {
         gc()
         const { heapUsed, external } = process.memoryUsage()
         return heapUsed + external
       }`,
    )
    parent = spawn(command, args, { env: environment, stdio: ['pipe', 'pipe', 'inherit'] })
    lines = createInterface({ input: parent.stdout! })
    gone = once(parent, 'exit').then(() => Promise.reject(new Error('The parent has ended.')))
    gone.catch(() => {})
  })
  afterAll(async () => {
    parent.stdin!.end()
    if (parent.exitCode === null) await once(parent, 'exit')
  })

  async function ask(
    language: Language,
    responses: string[],
    { args = [], timed = false }: { args?: unknown[]; timed?: boolean } = {},
  ): Promise<{ verdicts: CodeVerdict[]; kept: number }> {
    const task: FunctionTask = {
      kind: 'function',
      language,
      name: 'solve',
      cases: [{ args, expected: 'done' }],
    }
    const reply = once(lines, 'line')
    const cases = responses.map((response) => ({ task, response }))
    parent.stdin!.write(`${JSON.stringify({ cases, timed })}\n`)
    return JSON.parse(String((await Promise.race([reply, gone]))[0]))
  }

  function expectNothingLeft(): void {
    expect(alive()).toEqual([])
    expect(readdirSync(temporary)).toEqual([])
  }

  /** Runs a program, after which there must be no process of it left, and no folder. */
  async function run(response: string, args: unknown[] = [], language: Language = 'python') {
    const { verdicts } = await ask(language, [response], { args })
    expectNothingLeft()
    return verdicts[0]!
  }

  it('programs that do not end', async () => {
    const programs = [
      'def solve():\n    while True: pass',
      'import time\ndef solve(): time.sleep(1000)',
      'import os\ndef solve(): os.kill(os.getpid(), 19)',
      'while True: pass',
      `import signal
for n in range(1, 65):
    try: signal.signal(n, signal.SIG_IGN)
    except (OSError, ValueError): pass
def solve():
    while True: pass`,
    ]
    const { verdicts } = await ask('python', programs, { timed: true })
    expect(verdicts.map(({ reason }) => reason)).toEqual(programs.map(() => 'timeout'))
    expectNothingLeft()
  })

  it.each([
    [
      'a fork bomb',
      'timeout',
      'import os\ndef solve():\n    while True:\n        try: os.fork()\n        except OSError: pass',
    ],
    [
      'a memory hog',
      'memory',
      'def solve():\n    held = []\n    while True: held.append(bytearray(1 << 20))',
    ],
    [
      'many processes that hold memory together',
      'memory',
      "import os, time\ndef solve():\n    for i in range(20):\n        if os.fork() == 0:\n            held = b'x' * (60 << 20)\n            time.sleep(100)\n    time.sleep(100)",
    ],
    ['shared memory', 'memory', 'import mmap\ndef solve(): return len(mmap.mmap(-1, 1 << 32))'],
    ['endless output', 'output_limit', "import os\ndef solve():\n    while True: os.write(1, b'x' * 65536)"],
    ['endless errors', 'output_limit', "import os\ndef solve():\n    while True: os.write(2, b'x' * 65536)"],
    [
      'endless messages',
      'output_limit',
      "import os\ndef solve():\n    while True: os.write(4, b'L\\n' * 9999)",
    ],
    [
      'an endless message',
      'output_limit',
      "import os\ndef solve():\n    while True: os.write(4, b'R' * 65536)",
    ],
    [
      'a huge file',
      'runtime_error',
      "def solve():\n    with open('big', 'wb') as f:\n        while True: f.write(bytes(1 << 20))",
    ],
    ['endless recursion', 'runtime_error', 'def solve(): return solve()'],
    [
      'all file descriptors',
      'runtime_error',
      "def solve():\n    held = []\n    while True: held.append(open('/dev/null'))",
    ],
    ['a closed channel', 'runtime_error', 'import os\ndef solve(): os.closerange(0, 100)'],
    [
      'input that never ends',
      'passed',
      "import sys\ndef solve():\n    return 'done' if sys.stdin.read() == '' else ''",
    ],
    [
      'zombies',
      'passed',
      "import os\ndef solve():\n    for i in range(40):\n        if os.fork() == 0: os._exit(0)\n    return 'done'",
    ],
    [
      'limits that it raises',
      'passed',
      "import resource as r\ndef solve():\n    for limit in (r.RLIMIT_NPROC, r.RLIMIT_DATA, r.RLIMIT_FSIZE, r.RLIMIT_NOFILE, r.RLIMIT_CPU):\n        try: r.setrlimit(limit, (r.RLIM_INFINITY, r.RLIM_INFINITY))\n        except (ValueError, OSError): continue\n        return 'raised'\n    return 'done'",
    ],
    [
      'processes that leave group, session and parent',
      'passed',
      "import os, time\ndef solve():\n    for i in range(5):\n        if os.fork() == 0:\n            os.setsid()\n            if os.fork() == 0:\n                os.chdir('/')\n                os.closerange(0, 100)\n                os.execvp('sleep', ['sleep', '86399'])\n            os._exit(0)\n    time.sleep(0.2)\n    return 'done'",
    ],
    [
      'folders that resist removal',
      'passed',
      "import os\ndef solve():\n    for i in range(1500):\n        os.mkdir('d' * 100)\n        os.chdir('d' * 100)\n    os.mkdir('x')\n    os.chmod('x', 0)\n    os.chmod('.', 0)\n    return 'done'",
    ],
  ])('%s', async (_, reason, program) => {
    const { verdicts } = await ask('python', [program], { timed: reason === 'timeout' })
    expectNothingLeft()
    expect(verdicts).toMatchObject([{ reason }])
  })

  it('output is dropped, not kept', async () => {
    const programs = Array<string>(20).fill('def solve():\n    while True: print("x" * 65536)')
    const { verdicts, kept } = await ask('python', programs)
    expect(verdicts.map(({ reason }) => reason)).toEqual(programs.map(() => 'output_limit'))
    expect(kept).toBeLessThan(60 * 2 ** 20)
  })

  it('a program that kills its parent, and all it can', async () => {
    // Limits alone do not keep a program from its own user's processes; its parent is a shell for that very reason.
    const targets = isolation === 'process' ? [0] : [0, -1, parent.pid!]
    const program =
      "import os\ndef solve(targets):\n    for pid in targets:\n        try: os.kill(pid or os.getppid(), 9)\n        except OSError: pass\n    return 'done'"
    const { reason } = await run(program, [targets])
    if (isolation !== 'process') expect(reason).toBe('passed')
    expect(await run("def solve(): return 'done'")).toMatchObject({ reason: 'passed' })
  })

  const hunt = `import glob, os
def solve():
    found = [k for k, v in os.environ.items() if '${secret}' in v]
    for path in glob.glob('/proc/*/environ') + glob.glob(os.path.expanduser('~/*')):
        try:
            if b'${secret}' in open(path, 'rb').read(): found.append(path)
        except OSError: pass
    return found or 'done'`

  it(
    isolation === 'process' ? 'the environment is open' : 'the environment of the parent stays secret',
    async () => {
      const { reason, detail } = await run(hunt)
      expect(reason, detail).toBe(isolation === 'process' ? 'failed' : 'passed')
      expect(detail).not.toContain('SECRET')
    },
  )

  it('files outside the folder', async () => {
    const open = join(temporary, 'open')
    const guardedFile = join(guarded, 'file')
    const program = `import os
def solve(paths):
    for path in paths + [os.path.expanduser('~/x'), 'inside']:
        try: open(path, 'w').write('x')
        except OSError: pass
    return 'done' if open('inside').read() == 'x' else ''`
    // Limits alone do not keep a program from the files of its own user.
    const own = isolation === 'process' && !layer.ordinary
    const paths = ['/x', '/usr/x', '/etc/x', ...(own ? [] : [guardedFile]), ...(jailed ? [open] : [])]
    expect(await run(program, [paths])).toMatchObject({ reason: 'passed' })
    expect(paths.filter((path) => existsSync(path))).toEqual([])
  })

  it(jailed ? 'the network is closed' : 'the network is open', async () => {
    const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const program =
      "import socket\ndef solve(port):\n    try: socket.create_connection(('127.0.0.1', port), 1)\n    except OSError as error: return 'done'"
    const { port } = server.address() as { port: number }
    expect((await run(program, [port])).reason).toBe(jailed ? 'passed' : 'failed')
    server.close()
  })

  it.runIf(jailed)(
    'new namespaces, other users, System V memory, and more than the folder holds',
    async () => {
      const program = `import ctypes, os
def solve():
    if ctypes.CDLL(None).unshare(0x10000000) == 0: return 'a user namespace'
    if ctypes.CDLL(None).shmget(0, 1 << 20, 0o1600) >= 0: return 'memory of no process'
    if len([p for p in os.listdir('/proc') if p.isdigit()]) > 3: return 'other processes'
    try: os.setuid(1)
    except OSError: pass
    else: return 'another user'
    try:
        for i in range(100): open('f%d' % i, 'wb').write(bytes(1 << 20))
    except OSError: return 'done'
    return 'a hundred megabytes'`
      expect(await run(program)).toMatchObject({ reason: 'passed', detail: '' })
    },
  )

  it('JavaScript that does the same', async () => {
    const program = `const { spawn } = require('node:child_process')
      const { readdirSync, readFileSync, writeFileSync } = require('node:fs')
      const solve = (target) => {
        for (let i = 0; i < 100; i++) {
          try { spawn('sleep', ['86399'], { detached: true, stdio: 'ignore' }).on('error', () => {}).unref() } catch {}
        }
        try { if (target) process.kill(target, 'SIGKILL') } catch {}
        for (const pid of readdirSync('/proc')) {
          try { if (readFileSync('/proc/' + pid + '/environ', 'latin1').includes('${secret}')) return 'found' } catch {}
        }
        try { writeFileSync('${join(guarded, 'js')}', '') } catch { return 'done' }
      }`
    const { reason } = await run(program, [isolation === 'process' ? 0 : parent.pid], 'javascript')
    expect(reason).toBe(isolation === 'process' ? 'failed' : 'passed')
    expect(existsSync(join(guarded, 'js'))).toBe(false)
  })

  it('a parent that is killed leaves nothing running', async () => {
    const [command, args] = parentCommand(
      layer,
      `const task = { kind: 'function', language: 'python', name: 'solve', cases: [{ args: [], expected: 1 }] }
       await grader.describe('python')
       console.log('ready')
       await grader.grade([{ task, response: 'import time\\ndef solve(): time.sleep(1000)' }])`,
    )
    const victim = spawn(command, args, { env: environment, stdio: ['ignore', 'pipe', 'inherit'] })
    await once(victim.stdout!, 'data')
    for (let waited = 0; waited < 20_000 && alive().length === 0; waited += 10) await sleep(10)
    expect(alive()).not.toEqual([])
    victim.kill('SIGKILL')
    for (let waited = 0; waited < 20_000 && alive().length > 0; waited += 10) await sleep(10)
    expect(alive()).toEqual([])
    for (const name of readdirSync(temporary)) rmSync(join(temporary, name), { recursive: true })
  })
}
