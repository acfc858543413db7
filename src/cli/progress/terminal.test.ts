/** The live block in a real terminal: a pseudo-terminal that Python opens. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { fakeRecipe } from '../../../test/support/fake-parts.js'
import { temporaryFolder } from '../../../test/support/folders.js'
import { Screen } from '../../../test/support/terminal.js'

/**
 * Runs a command in a terminal of COLUMNS x 24, prints what it wrote, as JSON with its exit status. Half a second after
 * another of the given texts has been written, it presses Ctrl-C.
 */
const inTerminal = `
import fcntl, json, os, pty, struct, sys, termios, time
columns, waits, command = int(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:]
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    os.execvp(command[0], command)
heard, at = b'', 0
while True:
    try:
        chunk = os.read(terminal, 65536)
    except OSError:
        break
    if not chunk:
        break
    heard += chunk
    if waits and waits[0].encode() in heard[at:]:
        waits, at = waits[1:], len(heard)
        time.sleep(0.5)
        os.write(terminal, b'\\x03')
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(json.dumps({'status': status, 'text': heard.decode('utf8', 'replace')}))
`

const hasPython = spawnSync('python3', ['-c', 'import pty, fcntl, termios']).status === 0

describe.skipIf(!hasPython)('a terminal', () => {
  function train(flags: object, { columns = 100, waits = [] as string[], env = {} } = {}) {
    const cwd = temporaryFolder()
    writeFileSync(join(cwd, 'fake.yaml'), fakeRecipe)
    const script = fileURLToPath(new URL('../../../test/support/fake-cli.js', import.meta.url))
    const command = [process.execPath, script, 'fake.yaml', JSON.stringify(flags)]
    const args = ['-c', inTerminal, String(columns), JSON.stringify(waits), ...command]
    const result = spawnSync('python3', args, {
      cwd,
      encoding: 'utf8',
      env: { ...process.env, TERM: 'xterm-256color', NO_COLOR: '', ...env },
    })
    const { status, text } = JSON.parse(result.stdout) as { status: number; text: string }
    const screen = new Screen(columns)
    screen.write(text)
    return { status, text, screen }
  }

  it('shows one block, keeps what is worth keeping above it, and gives the cursor back', () => {
    const { status, text, screen } = train({ rounds: 6 })
    expect(status).toBe(0)
    expect(text).toContain('\x1b[?25l')
    expect(screen.cursorShown).toBe(true)
    expect(screen.lines.filter((line) => line.startsWith('fake  runs/fake-seed0'))).toHaveLength(1)
    const at = screen.lines.findIndex((line) => line.startsWith('fake  runs/fake-seed0  round 6/6'))
    expect(screen.lines.slice(0, at)).toContain('checkpoint runs/fake-seed0/checkpoints/000006')
    expect(screen.lines[at + 2]).toMatch(/^ {2}solver +reward +[\d.]+ +[▁-█]{2,}/)
    expect(screen.lines.slice(at).join('\n')).toMatch(/\n {2}held-out +0\.\d+ -> 0\.\d+ {2}\[/)
    expect(screen.lines.slice(at).join('\n')).toContain('held-out accuracy')
    expect(text).toContain('\x1b[1m')
  })

  it('is left as it was found by Ctrl-C, by a second one, and by a crash', () => {
    const ended = train({ rounds: 100_000 }, { waits: ['round 2/'] })
    expect(ended).toMatchObject({ status: 0, screen: { cursorShown: true } })
    expect(ended.screen.lines.join('\n')).toContain('Ending after this round; Ctrl-C again ends at once.')

    const slow = { rounds: 9, set: ['settings.pause=3000'] }
    const atOnce = train(slow, { waits: ['round 1/', 'Ending after'] })
    expect(atOnce).toMatchObject({ status: 130, screen: { cursorShown: true } })
    expect(atOnce.screen.lines.join('\n')).toContain('Ended at once.')

    // As soon as the block is there.
    const crash =
      "--import=data:text/javascript,setInterval(()=>process.listenerCount('SIGTSTP')&&null.crash,50)"
    const crashed = train(slow, { env: { NODE_OPTIONS: crash } })
    expect(crashed.text).toContain('\x1b[?25l')
    expect(crashed).toMatchObject({ status: 1, screen: { cursorShown: true } })
  })

  it('gets no line that is longer than it is wide, and no colour where none is wanted', () => {
    const { text, screen } = train({ rounds: 3 }, { columns: 40, env: { NO_COLOR: '1' } })
    expect(screen.wrapped.filter((line) => /^fake {2}|▁|█|waits/.test(line))).toEqual([])
    expect(text).not.toContain('\x1b[1m')
    expect(text).not.toContain('\x1b[2m')
  })

  it('that cannot move its cursor gets a line a round', () => {
    const { text } = train({ rounds: 3 }, { env: { TERM: 'dumb' } })
    expect(text).not.toContain('\x1b[')
    expect(text.match(/^round \d\/3 /gm)).toHaveLength(3)
  })
})
