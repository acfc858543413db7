import { readFileSync } from 'node:fs'
import { ConfigError, EngineError } from '../../../core/errors.js'
import { check, type Handle, loadLibrary } from './library.js'

/** Objects of which the process has one: the environment with its thread pool, and the options all sessions share. */
export interface Runtime {
  env: Handle
  /** Sessions that share the thread pool. */
  pooled: Handle
  /** Sessions that run on the thread that calls them, so that several can run side by side. */
  single: Handle
  cpuMemory: Handle
  threads: number
}

let runtime: Runtime | undefined

/** Errors come back as statuses; the library's own log would print them a second time. */
const fatalOnly = 4
const allOptimizations = 99
const arenaAllocator = 1
const defaultMemory = 0

/**
 * Starts the library with one thread pool for all sessions: a pool per session would leave idle pools spinning against
 * the busy one. A fixed number of threads makes results repeatable to the bit.
 */
export function startRuntime(threads: number): Runtime {
  if (runtime) {
    if (runtime.threads !== threads)
      throw new EngineError(`The engine already runs with ${runtime.threads} threads, not ${threads}.`)
    return runtime
  }
  checkCommandLine()
  const { api } = loadLibrary()
  const make = (what: string, create: (out: Handle[]) => Handle): Handle => {
    const out: Handle[] = [0]
    check(create(out), `creating ${what}`)
    return out[0]!
  }
  const threading = make('threading options', (out) => api.CreateThreadingOptions(out))
  check(api.SetGlobalIntraOpNumThreads(threading, threads), 'setting threads')
  check(api.SetGlobalSpinControl(threading, 1), 'setting spinning')
  const env = make('the environment', (out) =>
    api.CreateEnvWithGlobalThreadPools(fatalOnly, 'sparring', threading, out),
  )
  const cpuMemory = make('memory info', (out) => api.CreateCpuMemoryInfo(arenaAllocator, defaultMemory, out))
  // One arena for all sessions: what one graph frees, the next uses.
  check(api.CreateAndRegisterAllocator(env, cpuMemory, 0), 'registering the allocator')
  const options = (): Handle => {
    const handle = make('session options', (out) => api.CreateSessionOptions(out))
    check(api.SetSessionGraphOptimizationLevel(handle, allOptimizations), 'setting the optimization level')
    check(api.SetSessionLogSeverityLevel(handle, fatalOnly), 'setting the log level')
    // Memory patterns are kept per shape; batches come in very many shapes.
    check(api.DisableMemPattern(handle), 'disabling memory patterns')
    check(api.AddSessionConfigEntry(handle, 'session.use_env_allocators', '1'), 'sharing the arena')
    // Otherwise numbers near zero make some kernels many times slower.
    check(api.AddSessionConfigEntry(handle, 'session.set_denormal_as_zero', '1'), 'flushing denormals')
    return handle
  }
  const [pooled, single] = [options(), options()]
  check(api.DisablePerSessionThreads(pooled), 'sharing the thread pool')
  check(api.SetIntraOpNumThreads(single, 1), 'setting one thread')
  runtime = { env, pooled, single, cpuMemory, threads }
  return runtime
}

/** Bytes of this process's arguments that the library takes: on Linux it reads them all, and crashes on many more. */
const longestCommandLine = 4096

function checkCommandLine(): void {
  if (process.platform !== 'linux') return
  const bytes = readFileSync('/proc/self/cmdline').length
  if (bytes <= longestCommandLine) return
  throw new ConfigError(
    `The command line is ${bytes} bytes long; the engine's library takes at most ${longestCommandLine}.`,
    { hint: 'Put settings into a run file; give a long prompt on standard input, with --prompt -.' },
  )
}

export function currentRuntime(): Runtime {
  if (!runtime) throw new EngineError('The ONNX Runtime environment was not started.')
  return runtime
}
