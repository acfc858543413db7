// biome-ignore-all lint/suspicious/noExplicitAny: what a solution holds may be anything
/**
 * What a Node process runs: the counterpart of python.ts, with the same messages and tags. Nothing imports this file;
 * its compiled text is handed to Node as the body of a function, so it imports nothing either.
 */
const { readSync, writeFileSync, writeSync } = process.getBuiltinModule('node:fs')
const { runMain } = process.getBuiltinModule('node:module') as unknown as { runMain(): void }
const { resolve } = process.getBuiltinModule('node:path')
const { runInThisContext, Script } = process.getBuiltinModule('node:vm')
type Script = import('node:vm').Script

const { stringify, parse } = JSON
type Tagged = { $: string; v: any }

function put(line: Buffer): void {
  for (let at = 0; at < line.length; ) at += writeSync(4, line, at)
}

function send(kind: string, value: unknown = null): void {
  put(Buffer.from(`${kind}${stringify(value)}\n`))
}

let rest = Buffer.alloc(0)
function receive(): { kind: string; value: any } {
  const chunks: Buffer[] = []
  while (!rest.includes(10)) {
    chunks.push(rest)
    rest = Buffer.alloc(65536)
    const n = readSync(3, rest)
    if (n === 0) process.exit(0)
    rest = rest.subarray(0, n)
  }
  const end = rest.indexOf(10)
  const line = Buffer.concat([...chunks, rest.subarray(0, end)]).toString()
  rest = rest.subarray(end + 1)
  return { kind: line[0]!, value: parse(line.slice(1)) }
}

function pack(v: any): unknown {
  if (v === null || typeof v === 'boolean' || typeof v === 'string') return v
  if (typeof v === 'number') {
    return Number.isFinite(v) && !Object.is(v, -0) ? v : { $: 'float', v: Object.is(v, -0) ? '-0' : `${v}` }
  }
  if (v === undefined) return { $: 'undefined' }
  if (typeof v === 'bigint') return { $: 'bigint', v: `${v}` }
  if (Array.isArray(v)) return Array.from(v, pack)
  if (ArrayBuffer.isView(v) && !(v instanceof DataView)) return Array.from(v as unknown as number[], pack)
  if (v instanceof Set) return { $: 'set', v: Array.from(v, pack) }
  if (v instanceof Map) return { $: 'map', v: Array.from(v, (entry) => entry.map(pack)) }
  if (v instanceof Date) return { $: 'date', v: v.getTime() }
  if (typeof v !== 'object' || v instanceof Promise) return { $: 'object', v: typeof v }
  const entries = Object.entries(v).map(([key, item]) => [key, pack(item)] as const)
  return '$' in v ? { $: 'dict', v: entries } : Object.fromEntries(entries)
}

function unpack(v: any): unknown {
  if (Array.isArray(v)) return v.map(unpack)
  if (typeof v !== 'object' || v === null) return v
  const { $: tag, v: inner } = v as Tagged
  if (tag === undefined)
    return Object.fromEntries(Object.entries(v).map(([key, item]) => [key, unpack(item)]))
  if (tag === 'float') return Number(inner)
  if (tag === 'undefined') return undefined
  if (tag === 'bigint') return BigInt(inner)
  if (tag === 'set') return new Set(inner.map(unpack))
  if (tag === 'map') return new Map(unpack(inner) as [unknown, unknown][])
  if (tag === 'date') return new Date(inner)
  if (tag === 'dict') return Object.fromEntries(unpack(inner) as [string, unknown][])
  return Symbol(inner)
}

function nameOf(error: any): string {
  return String(error?.name ?? typeof error)
}

function messageOf(error: any): string {
  return String(error?.message ?? error).slice(0, 300)
}

function describe(error: any): string {
  return `${nameOf(error)}: ${messageOf(error)}`
}

/** The first of the sources that compiles. */
function compiled(sources: string[], filename: string): Script {
  let first: unknown
  for (const source of sources) {
    try {
      return new Script(source, { filename })
    } catch (error) {
      first ??= error
    }
  }
  throw first
}

const modular = /^\s*(?:import|export)\b/m

/** A module (with import or export) is loaded as one, all else as a script whose names are global. */
async function load(sources: string[], entry?: string): Promise<Record<string, any>> {
  let script: Script
  try {
    script = compiled(sources, 'solution.js')
  } catch (error) {
    const source = sources.find((text) => modular.test(text))
    return source === undefined ? refuse(error) : loadModule(source, entry)
  }
  script.runInThisContext()
  return {}
}

/** The entry is found whether the module exports it or not. */
async function loadModule(source: string, entry?: string): Promise<Record<string, any>> {
  const url = (text: string) => `data:text/javascript,${encodeURIComponent(text)}`
  const whole = () => import(url(source)).catch(refuseSyntax)
  if (entry === undefined) return whole()
  return import(url(`${source}\nexport { ${entry} as $entry }`)).catch((error) =>
    error instanceof SyntaxError ? whole() : Promise.reject(error),
  )
}

function refuseSyntax(error: unknown): never {
  if (error instanceof SyntaxError) refuse(error)
  throw error
}

function refuse(error: unknown): never {
  send('E', describe(error))
  process.exit(1)
}

function find(space: Record<string, any>, entry: string): (...args: unknown[]) => unknown {
  const global = (name: string) => runInThisContext(`typeof ${name} === 'undefined' ? undefined : ${name}`)
  const exported = { ...module.exports, ...space.default, ...space }
  const target = space.$entry ?? global(entry) ?? exported[entry]
  if (typeof target === 'function') return target
  const Solution = global('Solution') ?? exported.Solution
  if (typeof Solution === 'function' && typeof Solution.prototype[entry] === 'function') {
    return (...args) => new Solution()[entry](...args)
  }
  throw new ReferenceError(`the function '${entry}' is not defined`)
}

async function serve(job: any): Promise<void> {
  const target = find(await load(job.sources, job.entry), job.entry)
  send('L')
  for (;;) {
    const [args, named] = receive().value
    try {
      const all = Object.keys(named).length > 0 ? [...args, named] : args
      send('R', pack(await target(...(unpack(all) as unknown[]))))
    } catch (error) {
      send('X', [nameOf(error), messageOf(error)])
    }
  }
}

/** The verdict is given when nothing is left to do, so that tests may be asynchronous. */
function runTests(tests: string, verdict: Buffer): void {
  let settled = false
  const fail = (error: any) => {
    if (!settled) send('V', { passed: false, remote: error?.remote, detail: describe(error) })
    settled = true
    process.exit(1)
  }
  process.on('uncaughtException', fail)
  process.on('beforeExit', () => {
    if (!settled) put(verdict)
    settled = true
  })
  let script: Script
  try {
    script = new Script(tests, { filename: 'tests.js' })
  } catch (error) {
    settled = true
    send('T', describe(error))
    return
  }
  try {
    script.runInThisContext()
  } catch (error) {
    fail(error)
  }
}

function call(...args: unknown[]): unknown {
  send('C', [pack(args), {}])
  const { kind, value } = receive()
  if (kind === 'R') return unpack(value)
  throw Object.assign(new Error(value[1]), { name: value[0], remote: value[0] })
}

const passed = (token: string | null) => Buffer.from(`V${stringify({ passed: true, token })}\n`)

function judge(job: any): void {
  try {
    compiled(job.setup, 'prompt.js').runInThisContext()
  } catch {}
  Object.assign(globalThis, { [job.entry]: call })
  runTests(job.tests, passed(null))
}

async function together(job: any): Promise<void> {
  const verdict = passed(job.token)
  job.token = undefined
  await load(job.sources)
  runTests(job.tests, verdict)
}

async function script(job: any): Promise<void> {
  const source = job.sources[0]
  if (modular.test(source)) {
    await loadModule(source)
    return
  }
  try {
    compiled([source], 'solution.js')
  } catch (error) {
    refuse(error)
  }
  process.argv[1] = resolve('solution.js')
  writeFileSync(process.argv[1], source)
  runMain()
}

const job = receive().value
const modes: Record<string, (job: any) => void> = { script, serve, judge, together }
modes[job.mode]!(job)

export {}
