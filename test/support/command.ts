/** Runs a compiled script as a user would, and tells what came of it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface CommandResult {
  status: number | null
  stdout: string
  stderr: string
}

export interface CommandOptions {
  cwd?: string
  /** Added to the variables of this process. */
  env?: Record<string, string>
  /** What the process reads on standard input. */
  input?: string
  /** Called with everything on stdout and stderr so far, and may end the process by a signal. */
  watch?: (output: string, kill: (signal: NodeJS.Signals) => void) => void
}

export async function runScript(
  path: string,
  args: string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const script = fileURLToPath(new URL(`../../${path}`, import.meta.url))
  const child = spawn(process.execPath, [script, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
  })
  child.stdin.end(options.input)
  let [stdout, stderr] = ['', '']
  const hear = () => options.watch?.(stdout + stderr, (signal) => child.kill(signal))
  child.stdout.on('data', (data) => {
    stdout += data
    hear()
  })
  child.stderr.on('data', (data) => {
    stderr += data
    hear()
  })
  const [status] = await once(child, 'close')
  return { status, stdout, stderr }
}

export const sparring = (args: string[], options?: CommandOptions) =>
  runScript('src/cli/main.js', args, options)
