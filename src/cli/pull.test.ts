import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sparring } from '../../test/support/command.js'
import { temporaryFolder } from '../../test/support/folders.js'
import { type HubRepo, hubServer } from '../../test/support/hub-server.js'
import { readSafetensors } from '../../test/support/safetensors.js'
import { projectRoot } from '../core/paths.js'

const commit = '740312add88f781978c0658806c59bc2815b9866'
const tiny = join(projectRoot(), 'models/tiny/base')
const events = (stdout: string) =>
  stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

async function setUp(changes: Partial<HubRepo> = {}) {
  const files = Object.fromEntries(readdirSync(tiny).map((name) => [name, readFileSync(join(tiny, name))]))
  const hub = await hubServer({ 'some/tiny': { kind: 'model', commit, files, ...changes } })
  const cwd = temporaryFolder()
  const cache = join(cwd, 'cache')
  const env = { HF_ENDPOINT: hub.url, HF_HOME: cache, HF_TOKEN: '', HF_HUB_OFFLINE: '' }
  const run = (...args: string[]) => sparring(args, { cwd, env })
  return { hub, cwd, cache, run }
}

describe('sparring pull', () => {
  it('fetches a model that can be asked, trained and exported by its name', async () => {
    const { cwd, cache, run, hub } = await setUp()
    const absent = await run('sample', '--model', 'some/tiny', '--prompt', '2+3')
    expect(absent.status).toBe(2)
    expect(absent.stderr).toContain('no model of the Hub of that name was pulled')
    expect(absent.stderr).toContain('sparring pull some/tiny')

    const pulled = await run('pull', 'some/tiny')
    expect(pulled.stdout).toMatch(
      /^some\/tiny \(main, 740312a\): \d files, [\d.]+ MiB, [\d.]+ MiB fetched in /,
    )
    const folder = join(cache, 'hub/models--some--tiny/snapshots', commit)
    expect(pulled.stdout.trimEnd().split('\n').at(-1)).toBe(folder)

    const again = await run('pull', 'some/tiny', '--json')
    expect(events(again.stdout)).toEqual([
      expect.objectContaining({
        event: 'done',
        model: 'some/tiny',
        revision: 'main',
        commit,
        folder,
        fetched: 0,
      }),
    ])
    await hub.close()
    const offline = await run('pull', 'some/tiny', '--offline', '--json')
    expect(events(offline.stdout)).toEqual([expect.objectContaining({ event: 'done', commit, folder })])

    const ask = ['--prompt', '2+3', '--temperature', '0', '--max-tokens', '8', '--json']
    const [byName, byFolder] = await Promise.all([
      run('sample', '--model', 'some/tiny', ...ask),
      run('sample', '--model', tiny, ...ask),
    ])
    expect(byName).toEqual(byFolder)
    expect(byName.status).toBe(0)

    const settings = { data: ['talks.jsonl'], batch_size: 2, max_tokens: 64 }
    const messages = ['2+3', '77'].map((content, i) => ({ role: i ? 'assistant' : 'user', content }))
    writeFileSync(join(cwd, 'talks.jsonl'), `${JSON.stringify({ messages })}\n`.repeat(4))
    const optim = { learning_rate: 3e-2 }
    const lora = { rank: 2, targets: ['q_proj', 'down_proj'] }
    const student = { model: 'some/tiny', lora, optim }
    const recipe = { game: 'sft', rounds: 2, settings, roles: { student }, checkpoint: { every: 1 } }
    writeFileSync(join(cwd, 'run.yaml'), JSON.stringify(recipe))
    const trained = await run('train', 'run.yaml', '--run', 'a', '--json')
    expect(events(trained.stdout).at(-1)).toMatchObject({ event: 'done' })
    const { roles } = JSON.parse(readFileSync(join(cwd, 'a/config.json'), 'utf8'))
    expect(roles.student.model).toBe(`some/tiny@${commit}`)

    const adapter = await run('export', 'a', '--to', 'adapter', '--json')
    expect(events(adapter.stdout)).toEqual([
      {
        event: 'done',
        checkpoint: 'a/checkpoints/000002/student',
        to: 'adapter',
        dtype: 'f32',
        form: 'peft',
        base: 'some/tiny',
      },
    ])
    const config = JSON.parse(readFileSync(join(cwd, 'adapter/adapter_config.json'), 'utf8'))
    expect(config).toMatchObject({
      base_model_name_or_path: 'some/tiny',
      revision: commit,
      r: 2,
      lora_alpha: 32,
    })

    const merged = await run('export', 'a@2', '--to', 'merged', '--form', 'merged')
    expect(merged.stdout).toBe('a/checkpoints/000002/student -> merged (merged with some/tiny, f32)\n')
    expect(existsSync(join(cwd, 'merged/tokenizer.json'))).toBe(true)
    const answers = await Promise.all(
      ['a', 'adapter', 'merged'].map((model) => run('sample', '--model', model, ...ask)),
    )
    const logprobs = answers.map(({ stdout }) => events(stdout)[0].logprob)
    expect(logprobs[1]).toBe(logprobs[0])
    expect(logprobs[2]).toBeCloseTo(logprobs[0], 4)
    expect(logprobs[0]).not.toBeCloseTo(events(byName.stdout)[0].logprob, 4)

    const first = await run('export', 'a@1', '--to', 'adapter', '--force', '--dtype', 'bf16')
    expect(first.status).toBe(0)
    const stored = readSafetensors(join(cwd, 'adapter/adapter_model.safetensors'))
    expect(new Set([...stored.values()].map(({ dtype }) => dtype))).toEqual(new Set(['BF16']))
    const none = await run('export', 'a@7', '--to', 'other')
    expect(none.status).toBe(2)
    expect(none.stderr).toContain('a has no checkpoint after 7 rounds.')
    expect(none.stderr).toContain('after 1, 2')
  }, 120_000)

  it.each([
    ['of a model that is not there', {}, ['some/other'], 2, 'gated, private or not there'],
    ['of a gated model', { gated: true, token: 'hf_x' }, ['some/tiny'], 2, 'some/tiny is gated'],
    [
      'of another revision',
      {},
      ['some/tiny', '--revision', 'v2'],
      2,
      'no model some/tiny with the revision v2',
    ],
    ['when offline', {}, ['some/tiny', '--offline'], 2, 'stay offline'],
    [
      'of a model that is none of ours',
      { files: { 'config.json': '{"model_type":"x"}', 'tokenizer.json': '{}', 'model.safetensors': 'x' } },
      ['some/tiny'],
      2,
      'model_type to "x": this architecture is not supported',
    ],
    [
      'that arrives damaged',
      { damaged: ['model.safetensors'] },
      ['some/tiny'],
      1,
      'model.safetensors arrived damaged',
    ],
  ])('ends in one sentence and what to do: %s', async (_, changes, args, status, message) => {
    const { run } = await setUp(changes)
    const failed = await run('pull', ...args)
    expect(failed.status).toBe(status)
    expect(failed.stderr).toMatch(/^error: .+\nhint: .+\n$/)
    expect(failed.stderr).toContain(message)
  })

  it('ends by Ctrl-C, and goes on from there', async () => {
    const { run, cwd, hub, cache } = await setUp({ breaks: [100_000] })
    const env = { HF_ENDPOINT: hub.url, HF_HOME: cache }
    let asked = false
    const watch = (output: string, kill: (signal: NodeJS.Signals) => void) => {
      if (asked || !output.includes('the connection broke')) return
      asked = true
      kill('SIGINT')
    }
    hub.repos['some/tiny']!.breaks = Array(20).fill(100_000)
    const stopped = await sparring(['pull', 'some/tiny'], { cwd, env, watch })
    expect(stopped).toMatchObject({
      status: 130,
      stderr: expect.stringContaining('Ended before it was done'),
    })
    hub.repos['some/tiny']!.breaks = []
    const { bytes, fetched } = events((await run('pull', 'some/tiny', '--json')).stdout).at(-1)
    expect(fetched).toBeLessThanOrEqual(bytes - 100_000)
  })

  it('fetches the files of a data set that data are read from, into a folder with their places', async () => {
    const { hub, cwd, run } = await setUp()
    const row = `${JSON.stringify({ problem: '1+1', answer: '2' })}\n`
    hub.repos['some/set'] = {
      commit,
      files: { 'README.md': '#', 'data/a.jsonl': row, 'data/b.parquet': 'PAR1', 'all/c.jsonl': row },
    }
    const pulled = await run('pull', 'some/set', '--dataset', '--only', 'data', '--to', 'set')
    expect(pulled).toMatchObject({ status: 0 })
    expect(pulled.stdout).toMatch(/^some\/set \(main, 740312a\): 2 files/)
    expect(readdirSync(join(cwd, 'set'), { recursive: true }).map(String).sort()).toEqual([
      'data',
      join('data', 'a.jsonl'),
      join('data', 'b.parquet'),
    ])
    expect(readFileSync(join(cwd, 'set/data/a.jsonl'), 'utf8')).toBe(row)
    const again = await run('pull', 'some/set', '--dataset', '--to', 'set', '--json')
    expect(events(again.stdout).at(-1)).toMatchObject({ files: 3, fetched: row.length })

    const none = await run('pull', 'some/set', '--dataset', '--only', 'dat', '--to', 'none')
    expect(none.status).toBe(2)
    expect(none.stderr).toContain(
      'some/set has no Parquet or JSONL files in dat.\nhint: It has some in data, all.',
    )
    expect((await run('pull', 'some/tiny', '--only', 'data')).stderr).toContain('--only is for data sets')
    expect((await run('pull', 'some/set', '--dataset', '--offline')).status).toBe(2)
    expect((await run('pull', 'some/tiny', '--dataset')).stderr).toContain('some/tiny')
  })
})
