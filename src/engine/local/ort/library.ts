/**
 * ONNX Runtime through its C API. `onnxruntime-node` ships the official shared library; its own binding copies every
 * output and blocks for it, so the library is called directly: zero copies both ways and kernels that write in place.
 *
 * The C API is a table of functions with fixed positions: entries are only ever appended (onnxruntime_c_api.h), so the
 * positions below hold for every version from `apiVersion` on.
 */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import koffi, { type LibraryHandle } from 'koffi'
import { EngineError, messageOf } from '../../../core/errors.js'

const apiVersion = 20

const entries = {
  GetErrorMessage: [2, 'const char* (uint64_t)'],
  CreateSessionFromArray: [8, 'uint64_t (uint64_t, void*, size_t, uint64_t, _Out_ uint64_t*)'],
  Run: [9, 'uint64_t (uint64_t, uint64_t, void*, void*, size_t, void*, size_t, void*)'],
  CreateSessionOptions: [10, 'uint64_t (_Out_ uint64_t*)'],
  DisableMemPattern: [17, 'uint64_t (uint64_t)'],
  SetSessionLogSeverityLevel: [22, 'uint64_t (uint64_t, int)'],
  SetSessionGraphOptimizationLevel: [23, 'uint64_t (uint64_t, int)'],
  SetIntraOpNumThreads: [24, 'uint64_t (uint64_t, int)'],
  CreateTensorWithDataAsOrtValue: [
    49,
    'uint64_t (uint64_t, uint64_t, size_t, void*, size_t, int, _Out_ uint64_t*)',
  ],
  CreateCpuMemoryInfo: [69, 'uint64_t (int, int, _Out_ uint64_t*)'],
  ReleaseStatus: [93, 'void (uint64_t)'],
  ReleaseSession: [95, 'void (uint64_t)'],
  ReleaseValue: [96, 'void (uint64_t)'],
  ReleaseSessionOptions: [100, 'void (uint64_t)'],
  CreateEnvWithGlobalThreadPools: [119, 'uint64_t (int, const char*, uint64_t, _Out_ uint64_t*)'],
  DisablePerSessionThreads: [120, 'uint64_t (uint64_t)'],
  CreateThreadingOptions: [121, 'uint64_t (_Out_ uint64_t*)'],
  AddSessionConfigEntry: [130, 'uint64_t (uint64_t, const char*, const char*)'],
  CreateAndRegisterAllocator: [144, 'uint64_t (uint64_t, uint64_t, uint64_t)'],
  SetGlobalIntraOpNumThreads: [147, 'uint64_t (uint64_t, int)'],
  SetGlobalSpinControl: [149, 'uint64_t (uint64_t, int)'],
} as const

/** Arguments and results are as the prototypes say; a status comes back as a handle, 0 being success. */
type Api = Record<keyof typeof entries, Callable>

interface Callable {
  (...args: unknown[]): Handle
  /** On a thread of libuv's pool; the last argument is called with an error or the result. */
  async(...args: unknown[]): void
}

/** Opaque handle of an object that the library owns. */
export type Handle = number | bigint

/** koffi unloads a library whose handle is collected and the next call crashes: both stay referenced for the process's life. */
let loaded: { library: LibraryHandle; api: Api; version: string } | undefined

/** Path of the shared library inside the installed onnxruntime-node package. */
export function libraryPath(): string {
  const require = createRequire(import.meta.url)
  const root = dirname(dirname(require.resolve('onnxruntime-node')))
  const file = { linux: 'libonnxruntime.so.1', darwin: 'libonnxruntime.1.dylib', win32: 'onnxruntime.dll' }
  const name = file[process.platform as keyof typeof file]
  if (name === undefined) throw new EngineError(`The local engine has no library for ${process.platform}.`)
  return join(root, 'bin', 'napi-v6', process.platform, process.arch, name)
}

export function loadLibrary(): { api: Api; version: string } {
  if (loaded) return loaded
  const path = libraryPath()
  let library: LibraryHandle
  try {
    library = koffi.load(path)
  } catch (cause) {
    throw new EngineError(`ONNX Runtime could not be loaded from ${path}: ${messageOf(cause)}.`, {
      hint: 'Run npm ci again, then sparring doctor.',
      cause,
    })
  }
  const base = koffi.decode(
    library.func('void* OrtGetApiBase()')(),
    koffi.struct({ getApi: 'void*', version: 'void*' }),
  )
  const version: string = koffi.decode(base.version, koffi.proto('const char* ()'))()
  const table = koffi.decode(base.getApi, koffi.proto('void* (uint32_t)'))(apiVersion)
  if (!table) throw new EngineError(`ONNX Runtime ${version} does not offer C API version ${apiVersion}.`)
  const functions = koffi.decode(table, koffi.array('void*', 160))
  const api = Object.fromEntries(
    Object.entries(entries).map(([name, [position, prototype]]) => [
      name,
      koffi.decode(functions[position], koffi.proto(prototype)),
    ]),
  ) as Api
  loaded = { library, api, version }
  return loaded
}

/** Throws what a status says; a null status is success. */
export function check(status: Handle, doing: string): void {
  if (!status) return
  const { api } = loadLibrary()
  const message = api.GetErrorMessage(status)
  api.ReleaseStatus(status)
  throw new EngineError(`ONNX Runtime failed ${doing}: ${message}`)
}
