/** The recipes at the papers' scale: what a dry run says of them with nothing at hand, and the order of their stages, played small. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type CommandOptions, sparring } from '../../test/support/command.js'
import { temporaryFolder } from '../../test/support/folders.js'
import { hubServer } from '../../test/support/hub-server.js'
import { startTinkerServer, type TinkerServer } from '../../test/tinker-server/index.js'
import { projectRoot } from '../core/paths.js'

const commit = '740312add88f781978c0658806c59bc2815b9866'
const inPackage = (path: string) => join(projectRoot(), path)
const tiny = inPackage('models/tiny')

/** An empty folder to work in, with an empty cache and no server and no Hub within reach. */
function workplace() {
  const cwd = temporaryFolder()
  const env: Record<string, string> = {
    HF_HOME: join(cwd, 'cache'),
    HF_ENDPOINT: 'http://127.0.0.1:9',
    HF_HUB_CACHE: join(cwd, 'cache/hub'),
    HF_HUB_OFFLINE: '',
    TINKER_BASE_URL: 'http://127.0.0.1:9',
    TINKER_API_KEY: '',
  }
  const run = async (...args: string[]) => {
    const result = await sparring(args, { cwd, env })
    const events = args.includes('--json')
      ? result.stdout
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line))
      : []
    return { ...result, events }
  }
  return { cwd, env, run }
}

/** A Hub that has these models, with the files of the starter model. */
async function hubOf(...models: string[]): Promise<string> {
  const names = readdirSync(tiny).filter((name) => /\.(json|safetensors|jinja)$/.test(name))
  const files = Object.fromEntries(names.map((name) => [name, readFileSync(join(tiny, name))]))
  const { url } = await hubServer(
    Object.fromEntries(models.map((name) => [name, { kind: 'model' as const, commit, files }])),
  )
  return url
}

const seated = (settings: Record<string, string | number | boolean>) =>
  Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`])

describe('a dry run of a recipe at paper scale', () => {
  it('says what a round asks for and what is missing, in order, without model, data or server', async () => {
    const { run, cwd } = workplace()
    const { status, stderr, events } = await run('train', 'pasodoble-qwen3-1.7b', '--dry-run', '--json')
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(events.map(({ event }) => event)).toEqual(['config', 'plan'])
    const { roles, run: whole, server, needs } = events[1]
    // (6 questions + 6 x 6 answers) x 6,144 tokens.
    expect(roles.proposer.sampledTokens + roles.solver.sampledTokens).toBe(258_048)
    expect(whole.sampledTokens).toBe(2000 * 258_048)
    expect(roles.solver).toMatchObject({ prompts: 6, completions: 36, trainedTokens: 36 * 6656, steps: 6 })
    expect(server).toMatchObject({
      dialect: 'hosted',
      adapters: ['proposer', 'solver'].map((role) => ({ role, rank: 32, base: 'Qwen/Qwen3-1.7B-Base' })),
      requests: { asample: 7, save_weights_for_sampler: 2, forward_backward: 7, optim_step: 7 },
    })
    const game = 'pasodoble-qwen3-1.7b'
    expect(needs.map(({ name, found, get }: Record<string, string>) => [name, found, get])).toEqual([
      ['Qwen/Qwen3-1.7B', false, 'sparring pull Qwen/Qwen3-1.7B --no-weights'],
      ['pasodoble-proposer.jsonl', false, expect.stringContaining('Qwen3-14B')],
      [
        `runs/${game}-1-coldstart-proposer-seed42/checkpoints/000263/student`,
        false,
        `sparring train ${game}-1-coldstart-proposer`,
      ],
      ['pasodoble-solver.jsonl', false, expect.stringContaining('gpt-5-mini')],
      [
        `runs/${game}-2-coldstart-solver-seed42/checkpoints/001575/student`,
        false,
        `sparring train ${game}-2-coldstart-solver`,
      ],
      ['pasodoble-knowledge', false, expect.stringContaining('--dataset')],
    ])
    expect(readdirSync(cwd)).toEqual([])
  })

  it('asks for a key where the service is the hosted one', async () => {
    const { run, env } = workplace()
    env.TINKER_BASE_URL = ''
    const { stdout } = await run('train', 'gar-r1-distill-qwen-7b', '--dry-run')
    expect(stdout).toContain('  TINKER_API_KEY  (engine)\n')
    expect(stdout).toContain('sparring pull deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B --no-weights')
    expect(stdout).toContain('note      skyrl and openrl servers hold one base model each')
  })

  it('reckons with the kind of server that the run file names', async () => {
    const { run } = workplace()
    const kind = ['--set', 'engine.dialect=skyrl']
    const { events } = await run('train', 'gar-r1-distill-qwen-7b', '--dry-run', '--json', ...kind)
    const { server } = events[1]
    expect(server).toMatchObject({ dialect: 'skyrl', copies: 2, models: 4 })
    expect(server.requests.compute_logprobs).toBeUndefined()
    expect(server.notes).toEqual([expect.stringContaining('skyrl servers hold one base model each')])
  })

  it('sets the game up where all is there, and then finds what is wrong with the data', async () => {
    const { run, env, cwd } = workplace()
    env.HF_ENDPOINT = await hubOf('Qwen/Qwen3-1.7B')
    expect((await run('pull', 'Qwen/Qwen3-1.7B', '--no-weights')).status).toBe(0)
    const data = join(cwd, 'pasodoble-proposer.jsonl')
    const messages = ['2+3', '5'].map((content, i) => ({ role: i ? 'assistant' : 'user', content }))
    writeFileSync(data, `${JSON.stringify({ messages })}\n`)
    const dry = () => run('train', 'pasodoble-qwen3-1.7b-1-coldstart-proposer', '--dry-run', '--json')
    const { status, events } = await dry()
    expect(status).toBe(0)
    expect(events.map(({ event }) => event)).toEqual(['config', 'plan', 'memory'])
    expect(events[1].needs.every(({ found }: { found: boolean }) => found)).toBe(true)
    writeFileSync(data, '{"messages": []}\n')
    expect((await dry()).status).toBe(2)
  })

  it('goes on with a stage that has begun', async () => {
    const { run, cwd } = workplace()
    const stage = 'gar-r1-distill-qwen-7b-1-discriminator-sft'
    mkdirSync(join(cwd, 'runs', `${stage}-seed42`), { recursive: true })
    writeFileSync(join(cwd, 'runs', `${stage}-seed42`, 'config.json'), '{}')
    const { stdout } = await run('train', 'gar-r1-distill-qwen-7b', '--dry-run')
    expect(stdout).toContain(`    sparring train --run runs/${stage}-seed42 --resume\n`)
  })

  it('of a local run says what it lacks as well', async () => {
    const { run } = workplace()
    const { status, stdout } = await run('train', 'grpo-qwen2.5-0.5b-lora', '--dry-run')
    expect(status).toBe(0)
    expect(stdout).toContain('can be made once the models are here')
    expect(stdout).toMatch(
      /^ {2}models\/Qwen2\.5-0\.5B {2}\(roles\.solver\.model\)\n {4}a model folder in Hugging Face form;/m,
    )
    expect(stdout).not.toContain('on a server')
  })
})

describe('a recipe at paper scale whose earlier stages are missing', () => {
  it('is refused with the advice of its dry run, one thing after the other', async () => {
    const { run, env, cwd } = workplace()
    const game = 'pasodoble-qwen3-1.7b'
    const refused = async () => {
      const { status, stdout, stderr } = await run('train', game)
      expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
      return stderr
    }
    const first = await refused()
    expect(first).toContain(
      `error: Qwen/Qwen3-1.7B is not there, which the stage ${game}-1-coldstart-proposer asks for`,
    )
    expect(first).toContain('hint: Next: sparring pull Qwen/Qwen3-1.7B --no-weights; --dry-run lists all 6')
    env.HF_ENDPOINT = await hubOf('Qwen/Qwen3-1.7B')
    await run('pull', 'Qwen/Qwen3-1.7B', '--no-weights')
    expect(await refused()).toMatch(
      /error: pasodoble-proposer\.jsonl is not there, .*\nhint: It holds conversations, one a line/,
    )
    for (const name of ['proposer', 'solver']) writeFileSync(join(cwd, `pasodoble-${name}.jsonl`), '')
    const stage = await refused()
    expect(stage).toContain(`/student is not there, which roles.proposer.model asks for.`)
    expect(stage).toContain(`hint: Next: sparring train ${game}-1-coldstart-proposer; --dry-run lists all 3`)
    expect(stage).not.toContain('sparring pull')
    expect(readdirSync(cwd)).not.toContain('runs')
  })
})

describe('a run on a server that cannot be asked', () => {
  const game = ['train', 'pasodoble-tiny', '--set', 'engine.kind=tinker']
  const adapters = ['proposer', 'solver'].flatMap((role) => ['--set', `roles.${role}.lora.rank=4`])

  it('ends at once without the key that the hosted service needs, and leaves nothing', async () => {
    const { run, env, cwd } = workplace()
    env.TINKER_BASE_URL = ''
    const { status, stderr } = await run(...game, ...adapters)
    expect(status).toBe(2)
    expect(stderr).toMatch(/^\S+: pasodoble, .*, the hosted service$/m)
    expect(stderr).toMatch(
      /^error: https:\S+ wants a key, and TINKER_API_KEY is not set\.\nhint: .*TINKER_API_KEY/m,
    )
    expect(readdirSync(join(cwd, 'runs'))).toEqual([])
  })

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'ends at once at the first %s while it is looked for',
    async (signal) => {
      const { cwd, env } = workplace()
      let told = 0
      const watch: CommandOptions['watch'] = (output, kill) => {
        if (told > 0 || !output.includes('No server answers at')) return
        told = performance.now()
        kill(signal)
      }
      const { status, stderr } = await sparring([...game, ...adapters], { cwd, env, watch })
      expect(status).toBe(130)
      expect(stderr).toContain('http://127.0.0.1:9 (TINKER_BASE_URL)')
      expect(stderr).toContain(
        'No server answers at http://127.0.0.1:9 (TINKER_BASE_URL, for the role proposer): ',
      )
      expect(stderr).toContain('Ended before a round was begun.')
    },
  )
})

/** Requests of so many rounds are some, and no more than a dry run said; scores are samples and forwards are passes, by their routes. */
function withinForecast(
  server: TinkerServer,
  before: number,
  rounds: number,
  plan: { server: { requests: Record<string, number> } },
) {
  const asked = server.log.requests.slice(before)
  const { requests } = plan.server
  for (const [kind, also] of [
    ['asample', 'compute_logprobs'],
    ['forward_backward', 'forward'],
    ['optim_step', 'none'],
  ] as const) {
    const count = asked.filter(({ route }) => route === kind).length
    expect(count, kind).toBeGreaterThan(0)
    expect(count, kind).toBeLessThanOrEqual(rounds * ((requests[kind] ?? 0) + (requests[also] ?? 0)))
  }
}

describe('the stages of a recipe at paper scale', () => {
  it('PasoDoble: both cold starts, the game on their adapters, and the export of its solver', async () => {
    const { run, env, cwd } = workplace()
    env.HF_ENDPOINT = await hubOf('Qwen/Qwen3-1.7B', 'Qwen/Qwen3-1.7B-Base')
    const server = await startTinkerServer({ dialect: 'hosted', models: { 'Qwen/Qwen3-1.7B-Base': tiny } })
    onTestFinished(() => server.close())
    env.TINKER_BASE_URL = server.url
    env.TINKER_API_KEY = 'tml-test'
    await run('pull', 'Qwen/Qwen3-1.7B', '--no-weights')
    const data = {
      'settings.data': `[${inPackage('recipes/arithmetic/coldstart.jsonl')}]`,
      'settings.batch_size': 8,
    }
    const game = 'pasodoble-qwen3-1.7b'
    const models: Record<string, string> = {}
    for (const [role, stage] of Object.entries({
      proposer: '1-coldstart-proposer',
      solver: '2-coldstart-solver',
    })) {
      const played = await run('train', `${game}-${stage}`, '--rounds', '2', ...seated(data))
      expect(played, played.stderr).toMatchObject({ status: 0 })
      models[`roles.${role}.model`] = `runs/${game}-${stage}-seed42/checkpoints/000002/student`
    }
    const small = {
      ...models,
      'settings.knowledge.path': inPackage('recipes/arithmetic/knowledge.jsonl'),
      'settings.proposer':
        "{system: '', user: '{knowledge}', think: false, max_tokens: 160, max_prompt_tokens: 128}",
      'settings.solver':
        "{system: '', user: '{question}', think: false, max_tokens: 128, max_prompt_tokens: 128}",
    }
    const dry = await run('train', game, '--rounds', '2', '--dry-run', '--json', ...seated(small))
    expect(dry.events.map(({ event }) => event)).toEqual(['config', 'plan', 'memory'])
    const before = server.log.requests.length
    const played = await run('train', game, '--rounds', '2', '--json', ...seated(small))
    expect(played, played.stderr).toMatchObject({ status: 0 })
    withinForecast(server, before, 2, dry.events[1])

    const done = `runs/${game}-seed42`
    const adapter = await run('export', done, '--role', 'solver', '--to', 'adapter')
    expect(adapter, adapter.stderr).toMatchObject({ status: 0 })
    const config = JSON.parse(readFileSync(join(cwd, 'adapter/adapter_config.json'), 'utf8'))
    expect(config).toMatchObject({ base_model_name_or_path: 'Qwen/Qwen3-1.7B-Base', r: 32 })
    await run('pull', 'Qwen/Qwen3-1.7B-Base')
    const merged = await run('export', done, '--role', 'solver', '--to', 'merged', '--form', 'merged')
    expect(merged, merged.stderr).toMatchObject({ status: 0 })
    const asking = ['--prompt', '2+3', '--temperature', '0', '--max-tokens', '8', '--json']
    const [local, remote] = [
      await run('sample', '--model', 'merged', ...asking),
      await run('sample', '--model', done, '--role', 'solver', ...asking),
    ]
    expect(local.events.at(-1)?.text).toEqual(expect.any(String))
    expect(local.events.at(-1)?.text).toBe(remote.events.at(-1)?.text)
  })

  it('GAR: the discriminator is taught, then both models play', async () => {
    const { run, env } = workplace()
    const [small, large] = ['1.5B', '7B'].map((size) => `deepseek-ai/DeepSeek-R1-Distill-Qwen-${size}`)
    env.HF_ENDPOINT = await hubOf(small!, large!)
    const models = { [small!]: join(tiny, 'discriminator'), [large!]: tiny }
    const server = await startTinkerServer({ dialect: 'hosted', models })
    onTestFinished(() => server.close())
    env.TINKER_BASE_URL = server.url
    env.TINKER_API_KEY = 'tml-test'
    for (const name of [small!, large!]) await run('pull', name, '--no-weights')
    const shared = {
      'settings.data.path': inPackage('recipes/arithmetic/long.jsonl'),
      'settings.slicer':
        "{delimiter: '\\n|(?<==.*)(?==)', markers: [], min_tokens: 1, max_tokens: 96, context: '[^=\\n]+'}",
      'settings.discriminator.system': "''",
      'settings.discriminator.user': '"{question}\\n{slice}"',
      'settings.discriminator.max_tokens': 48,
      'settings.discriminator.max_prompt_tokens': 128,
    }
    const stage = 'gar-r1-distill-qwen-7b-1-discriminator-sft'
    const teaching = {
      ...shared,
      'settings.labels': 'planted',
      'settings.batch_size': 8,
      'settings.slices': 400,
    }
    const taught = await run('train', stage, '--rounds', '1', ...seated(teaching))
    expect(taught, taught.stderr).toMatchObject({ status: 0 })

    const playing = {
      ...shared,
      'roles.discriminator.model': `runs/${stage}-seed42/checkpoints/000001/discriminator`,
      'settings.problems_per_round': 2,
      'settings.reasoner':
        "{system: '', user: '{question}', think: false, max_tokens: 96, max_prompt_tokens: 64, kl: 0.04}",
    }
    const game = ['train', 'gar-r1-distill-qwen-7b', '--rounds', '1', '--json', ...seated(playing)]
    const dry = await run(...game, '--dry-run')
    expect(dry.events.map(({ event }) => event)).toEqual(['config', 'plan', 'memory'])
    expect(dry.events[1].server.adapters.map(({ base }: { base: string }) => base)).toEqual([large, small])
    const before = server.log.requests.length
    const played = await run(...game)
    expect(played, played.stderr).toMatchObject({ status: 0 })
    withinForecast(server, before, 1, dry.events[1])
    const round = played.events.find(({ event }) => event === 'round')
    expect(round.metrics['discriminator/optim/lr']).toBeGreaterThan(0)
  })
})
