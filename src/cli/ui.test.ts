import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { BigRun } from '../../test/support/big-run.js'
import { sparring } from '../../test/support/command.js'
import { temporaryFolder } from '../../test/support/folders.js'
import { address } from '../report/api/address.js'
import type { LiveEvent } from '../report/api/live.js'
import type { Match } from '../report/api/match.js'
import type { RolloutsAnswer } from '../report/api/rollouts.js'
import type { RunSummary } from '../report/api/run.js'

/** A server that listens, in a process of its own. */
async function serving(...args: string[]) {
  const script = fileURLToPath(new URL('./main.js', import.meta.url))
  const child = spawn(process.execPath, [script, 'ui', ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let stderr = ''
  child.stderr.on('data', (data) => {
    stderr += data
  })
  const closed = once(child, 'close')
  const [first] = await once(child.stdout, 'data')
  const url = String(first).trim()
  return {
    url,
    get: async <T>(path: string): Promise<T> => (await (await fetch(new URL(path, url))).json()) as T,
    stderr: () => stderr,
    /** Exit status after Ctrl-C. */
    async end(): Promise<number> {
      child.kill('SIGINT')
      return (await closed)[0]
    },
  }
}

function runs(): string {
  const folder = temporaryFolder()
  BigRun.write(join(folder, 'one'), { rounds: 2 })
  return folder
}

describe('sparring ui', () => {
  it('prints the address of a page that this machine alone can open, and ends with Ctrl-C, streams and all', async () => {
    const { url, end, stderr } = await serving(runs(), '--port', '0')
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/)
    const page = await fetch(url)
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    const html = await page.text()
    expect(html).toContain('<title>Sparring</title>')
    for (const [, file] of html.matchAll(/(?:src|href)="(page\.\w+)"/g)) {
      expect((await fetch(new URL(file!, url))).status).toBe(200)
    }
    const events = await fetch(new URL(address.events('one'), url))
    await events.body!.getReader().read()
    expect(stderr()).toContain('1 run in ')
    expect(stderr()).not.toContain('warning')
    const before = performance.now()
    expect(await end()).toBe(0)
    expect(performance.now() - before).toBeLessThan(5000)
  })

  it('refuses who comes by another name', async () => {
    const { url } = await serving(runs(), '--port', '0')
    const asked = request(new URL('/api/runs', url), { headers: { host: 'rebound.example' } }).end()
    const [response] = await once(asked, 'response')
    expect(response.statusCode).toBe(403)
    response.resume()
  })

  it('is opened by a name that was let in, and says it where others can reach it', async () => {
    const allowed = ['--allow-host', 'node17.cluster.example', '--allow-host', 'Proxy.example']
    const { url } = await serving(runs(), '--port', '0', '--host', '0.0.0.0', ...allowed)
    const urls = url.split('\n')
    const { port } = new URL(urls[0]!)
    expect(urls.slice(0, 2)).toEqual([
      `http://node17.cluster.example:${port}/`,
      `http://proxy.example:${port}/`,
    ])
    const status = async (host: string) => {
      const asked = request(new URL('/api/runs', urls.at(-1)), { headers: { host } }).end()
      const [response] = await once(asked, 'response')
      response.resume()
      return response.statusCode
    }
    expect(await status(`node17.cluster.example:${port}`)).toBe(200)
    expect(await status('proxy.example')).toBe(200)
    expect(await status('other.example')).toBe(403)
  })

  it('tells what is wrong with a folder or a name, and what was meant', async () => {
    const folder = runs()
    mkdirSync(join(folder, 'empty'))
    writeFileSync(join(folder, 'notes.md'), '')
    const wrong: [string[], string][] = [
      [['ui', join(folder, 'notes.md')], `error: ${folder}/notes.md is a file, not a folder of runs.`],
      [['ui', join(folder, 'emty')], `hint: Did you mean ${folder}/empty?`],
      [
        ['ui', folder, '--allow-host', 'http://a.example'],
        'is no name of a machine.\nhint: Give the name alone',
      ],
      [['ui', folder, '--allow-host', '*'], 'is no name of a machine.'],
      [
        ['report', join(folder, 'on')],
        `error: The folder ${folder}/on does not exist.\nhint: Did you mean ${folder}/one?`,
      ],
      [['report', join(folder, 'empty')], `error: The folder ${folder}/empty is empty.`],
      [['report', folder], `hint: It holds runs: name one of them, such as ${folder}/one.`],
      [['report', join(folder, 'notes.md')], `error: ${folder}/notes.md is a file, not the folder of a run.`],
      [
        ['report', join(folder, 'one', 'metrics.jsonl')],
        `hint: Name the folder that it lies in, ${folder}/one.`,
      ],
    ]
    for (const [args, words] of wrong) {
      const { status, stderr } = await sparring(args)
      expect([args, status]).toEqual([args, 2])
      expect(stderr).toContain(words)
    }
    const { stderr } = await serving(join(folder, 'empty'), '--port', '0')
    await expect
      .poll(stderr)
      .toMatch(/^No runs in .*empty yet; they appear as they are played; Ctrl-C ends\./)
  })

  it('says where it cannot listen, and takes the next port where none was asked for', async () => {
    const folder = runs()
    const first = await serving(folder)
    const second = await serving(folder)
    expect(Number(new URL(second.url).port)).toBeGreaterThan(Number(new URL(first.url).port))
    const { port } = new URL(first.url)
    const { status, stderr } = await sparring(['ui', folder, '--port', port])
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: `error: Port ${port} of 127.0.0.1 is taken.\nhint: Name another with --port, or leave it out to take the first that is free.\n`,
    })
    expect((await sparring(['ui', folder, '--port', '65536'])).stderr).toMatch(/^error: 65536 is no port\./)
    const elsewhere = await sparring(['ui', folder, '--host', '203.0.113.7', '--json'])
    expect(elsewhere.status).toBe(2)
    expect(JSON.parse(elsewhere.stdout)).toMatchObject({ event: 'error', code: 'config' })
    expect((await sparring(['ui', join(folder, 'nothing')])).stderr).toMatch(
      /^error: The folder .*nothing does not exist\./,
    )
  })

  it('warns where others can reach it', async () => {
    const { url, stderr } = await serving(runs(), '--port', '0', '--host', '0.0.0.0')
    const urls = url.split('\n')
    expect(urls.at(-1)).toMatch(/^http:\/\/localhost:\d+\/$/)
    for (const each of urls) {
      expect([each, (await fetch(new URL('/api/runs', each))).status]).toEqual([each, 200])
    }
    await expect.poll(stderr).toContain('warning: anyone on the network can read every run in ')
  })

  it('tells of a run as it is played, round by round', async () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'runs'))
    const { url, get } = await serving(join(folder, 'runs'), '--port', '0')
    const small = ['texts_per_round=2', 'questions=3', 'answers=3'].map((each) => `settings.${each}`)
    const anchors = ['every=1', 'heldout.n=64', 'heldout.greedy=false'].map((each) => `anchors.${each}`)
    const settings = [...small, ...anchors, 'engine.threads=1'].flatMap((each) => ['--set', each])
    const run = join(folder, 'runs', 'live')
    const training = sparring(['train', 'pasodoble-tiny', '--rounds', '10', '--run', run, ...settings])

    const response = await fetch(new URL(address.events('live', 0), url))
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    const rounds: number[] = []
    const statuses: string[] = []
    for (let text = ''; statuses.at(-1) !== 'finished'; ) {
      const { value, done } = await reader.read()
      expect(done).toBe(false)
      text += value
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1]
        text = text.slice(end + 2)
        const event: LiveEvent | undefined = data && JSON.parse(data)
        if (event?.kind === 'rounds') rounds.push(...event.metrics.to)
        if (event?.kind === 'runs') statuses.push(...event.runs.map(({ status }) => status))
      }
    }
    expect((await training).status).toBe(0)
    expect(statuses).toContain('running')
    expect(rounds).toEqual(Array.from({ length: 10 }, (_, i) => i + 1))
    const summary = (await get<{ runs: RunSummary[] }>(address.runs())).runs[0]!
    expect(summary).toMatchObject({
      id: 'live',
      status: 'finished',
      game: 'pasodoble',
      round: 10,
      anchor: { n: 64 },
    })
    const { rows, total } = await get<RolloutsAnswer>(
      address.rollouts('live', { role: 'solver', from: 10, to: 10 }),
    )
    expect(total).toBeGreaterThan(0)
    const match = await get<Match>(address.match('live', rows[0]!))
    expect(match.answers).toHaveLength(3)
    expect(match.birth!.proposal.text).toContain('<problem>')
    expect(match.answers[0]!.heat!.logprobs).toHaveLength(match.answers[0]!.tokens!)
  }, 300_000)
})
