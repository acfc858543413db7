import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { GraderError } from '../../core/errors.js'
import type { Limits } from './limits.js'
import { PYTHON } from './python.js'
import type { Language } from './task.js'

export interface Interpreter {
  path: string
  /** Files and folders it needs, beside the system's. */
  needs: string[]
  /** Folders that Python imports from. */
  modules: string[]
}

/**
 * Interpreters of a language, the preferred first: others serve where that one may not be read by another user.
 * Throws GraderError where there is no Python.
 */
export async function findInterpreters(language: Language, python: string): Promise<Interpreter[]> {
  if (language === 'javascript') {
    const own = { path: process.execPath, needs: [process.execPath].filter(isOutside), modules: [] }
    return [own, ...otherPaths('node', own).map((path) => ({ path, needs: [], modules: [] }))]
  }
  const own = await askPython(python).catch((cause) => {
    throw new GraderError(`${python} could not be run, and Python code tasks need Python 3.`, {
      hint: 'Install Python 3, or name its program in the `python` option.',
      cause,
    })
  })
  const others = await Promise.allSettled(otherPaths('python3', own).map(askPython))
  return [own, ...others.flatMap((other) => (other.status === 'fulfilled' ? [other.value] : []))]
}

function otherPaths(name: string, own: Interpreter): string[] {
  return [`/usr/bin/${name}`, `/usr/local/bin/${name}`].filter(
    (path) => path !== own.path && existsSync(path),
  )
}

/** `python3` may be a script that chooses one of several; the one that it chose is what will be run. */
async function askPython(command: string): Promise<Interpreter> {
  const question =
    'import json, sys; print(json.dumps([sys.executable, sys.prefix, sys.base_prefix, sys.path[1:]]))'
  const { stdout } = await promisify(execFile)(command, ['-sE', '-c', question], { timeout: 30_000 })
  const [path, prefix, base, modules] = JSON.parse(stdout) as [string, string, string, string[]]
  return { path, needs: [...new Set([prefix, base, path])].filter(isOutside), modules }
}

/** Not in a folder that programs see anyway. */
function isOutside(path: string): boolean {
  return path !== '/' && !/^\/(?:usr|bin|sbin|lib\d*|nix)(?:\/|$)/.test(path)
}

/** The names of what runs a solution stay in a function, since those of a solution are global. */
const javascript = readFileSync(fileURLToPath(new URL('./javascript-child.js', import.meta.url)), 'utf8')
  .replace(/^export \{\}.*$/m, '')
  .replace(/^/, "(() => { 'use strict'\n")
  .concat('\n})()')

/**
 * The command that runs a job. Python is spared the search for start-up files of installed packages (-S), which can
 * take longer than all else; V8 is told to stay below the limit of the process, so that it fails in words.
 */
export function programCommand(language: Language, { path, modules }: Interpreter, limits: Limits): string[] {
  if (language === 'python') return [path, '-S', '-c', PYTHON, ...modules]
  return [path, `--max-old-space-size=${limits.memoryMb}`, '-e', javascript]
}

export function programEnvironment(home: string): NodeJS.ProcessEnv {
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: home,
    TMPDIR: home,
    LANG: 'C.UTF-8',
    PYTHONHASHSEED: '0',
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONIOENCODING: 'utf-8:surrogateescape',
    OMP_NUM_THREADS: '1',
    OPENBLAS_NUM_THREADS: '1',
  }
}
