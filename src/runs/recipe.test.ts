import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { fakeGame } from '../../test/support/fake-game.js'
import { fakeRecipe } from '../../test/support/fake-parts.js'
import { temporaryFolder } from '../../test/support/folders.js'
import { ConfigError } from '../core/errors.js'
import { projectRoot } from '../core/paths.js'
import type { AnyGame } from '../games/game.js'
import { loadGame } from '../games/index.js'
import { knowledgeTexts } from '../worlds/arithmetic/index.js'
import { loadRecipe, type Recipe, type RecipeOptions, recipeNames, resolvePath } from './recipe.js'
import { checkUnchanged } from './unchanged.js'

/** A game whose settings have every shape that faults must be found in. */
const knotty: AnyGame = {
  ...fakeGame,
  config: z.preprocess(
    (given) => given,
    z.strictObject({
      questions: z.int().min(1).max(9).default(3).describe('Prompts a round'),
      prompt: z.string().includes('{question}').default('{question}'),
      mode: z.enum(['match', 'random']).default('match'),
      knowledge: z.union([z.strictObject({ path: z.string() }), z.literal('none')]).default('none'),
      judge: z
        .discriminatedUnion('kind', [
          z.strictObject({ kind: z.literal('rule') }),
          z.strictObject({ kind: z.literal('model'), size: z.int() }),
        ])
        .prefault({ kind: 'rule' }),
      parts: z.array(z.strictObject({ weight: z.number().default(1) })).default([]),
    }),
  ),
}

/** Aliases of aliases: a few lines that stand for a million words. */
const growing = [
  `a0: &a0 [${'x,'.repeat(10)}]`,
  ...[1, 2, 3, 4, 5].map((i) => `a${i}: &a${i} [${`*a${i - 1},`.repeat(10)}]`),
].join('\n')

async function load(options: Partial<RecipeOptions> = {}, text = fakeRecipe, game: AnyGame = fakeGame) {
  const file = join(temporaryFolder(), 'mine.yaml')
  writeFileSync(file, text)
  return loadRecipe(file, { loadGame: async () => game, ...options })
}

describe('a run file', () => {
  it('is filled in', async () => {
    const { recipe, name } = await load()
    expect(name).toBe('mine')
    expect(recipe).toMatchObject({
      seed: 0,
      engine: { kind: 'local', threads: availableParallelism() },
      settings: { questions: 3, answer_reward: 'match' },
      checkpoint: { every: 4, keep: 2 },
      anchors: { every: 5, heldout: { greedy: true, temperature: 1 } },
    })
    expect(recipe.roles.solver!.optim).toMatchObject({
      beta1: 0.9,
      beta2: 0.999,
      clip_norm: 1,
      weight_decay: 0,
    })
  })

  it('plays on a server by one line, where its roles have adapters', async () => {
    const set = [
      'roles.proposer.lora={}',
      'roles.solver.lora={}',
      'engine={kind: tinker, url: "http://gpu:8000"}',
    ]
    const { recipe } = await load({ set })
    expect(recipe.engine).toEqual({ kind: 'tinker', url: 'http://gpu:8000' })
    expect(recipe.roles.solver!.lora).toMatchObject({ rank: 16, alpha: 32 })
  })

  it('is changed by --set, --seed and --rounds', async () => {
    const set = [
      'settings.questions=5',
      'roles.solver.lora.targets=[q_proj]',
      'roles.solver.optim.learning_rate=1e-3',
    ]
    const { recipe } = await load({ set, seed: 7, rounds: 3 })
    expect(recipe).toMatchObject({ seed: 7, rounds: 3, settings: { questions: 5 } })
    expect(recipe.roles.solver).toMatchObject({
      lora: { rank: 16, targets: ['q_proj'] },
      optim: { learning_rate: 0.001 },
    })
  })

  it.each<[fault: string, set: string[], message: RegExp, hint?: RegExp]>([
    ['unknown key', ['round=3'], /mine\.yaml: round is not a known key\.$/, /Did you mean rounds\?/],
    ['unknown key within', ['engine.thread=3'], /engine\.thread is not a known key/, /engine\.threads/],
    [
      'unknown key of a role',
      ['roles.solver.optim.lr=1'],
      /roles\.solver\.optim\.lr is not/,
      /Keys allowed there: learning_rate/,
    ],
    [
      'unknown key of a union',
      ['settings.knowledge.pth=x'],
      /settings\.knowledge\.pth is not/,
      /settings\.knowledge\.path/,
    ],
    [
      'unknown key of a list',
      ['settings.parts=[{wieght: 2}]'],
      /settings\.parts\.0\.wieght/,
      /settings\.parts\.0\.weight/,
    ],
    [
      'unknown setting',
      ['settings.qestions=3'],
      /settings\.qestions is not a known key/,
      /settings\.questions/,
    ],
    ['unknown role', ['roles.solvr.model=x'], /roles\.solvr is not a role of fake/, /roles\.solver\?/],
    [
      'missing key',
      ['roles.solver.optim={}'],
      /roles\.solver\.optim\.learning_rate is missing; it must be a number/,
    ],
    ['wrong type', ['rounds=many'], /rounds must be a whole number, not "many"/, /Rounds to play/],
    ['fraction', ['rounds=1.5'], /rounds must be a whole number, not 1\.5/],
    ['too small', ['rounds=0'], /rounds must be a whole number >= 1, not 0/],
    [
      'too large',
      ['settings.questions=10'],
      /settings\.questions must be a whole number <= 9, not 10/,
      /Prompts a round/,
    ],
    [
      'no choice',
      ['settings.mode=rndom'],
      /settings\.mode must be one of "match", "random", not "rndom" \(did you mean "random"\?\)/,
    ],
    ['no branch', ['settings.knowledge=3'], /settings\.knowledge must be a table of keys or "none", not 3/],
    [
      'no kind',
      ['settings.judge.kind=jury'],
      /settings\.judge\.kind must be one of "rule", "model", not "jury"/,
    ],
    [
      'unknown key of a kind',
      ['settings.judge={kind: model, sise: 1}'],
      /settings\.judge\.sise is not/,
      /settings\.judge\.size\?/,
    ],
    ['no table', ['roles=[]'], /roles must be a table of keys, not \[\]/],
    ['wrong engine', ['engine.kind=remote'], /engine\.kind must be one of "local", "tinker"/],
    [
      'engine without adapters',
      ['engine={kind: tinker}'],
      /roles\.proposer\.lora is missing/,
      /lora: \{rank/,
    ],
    ['threads of a server', ['engine={kind: tinker, threads: 2}'], /engine\.threads is not a known key/],
    [
      'server of a local role',
      ['roles.solver.url=http://gpu:8000'],
      /roles\.solver\.url is for engine: tinker/,
    ],
    ['unknown dialect', ['engine={kind: tinker, dialect: skyrll}'], /engine\.dialect must be one of .*skyrl/],
    ['wrong target', ['roles.solver.lora.targets=[q_pro]'], /roles\.solver\.lora\.targets\.0 must be one of/],
    [
      'anchor without role',
      ['anchors.heldout.role=judge'],
      /anchors\.heldout\.role must be one of proposer, solver, not "judge"/,
    ],
    ['no number', ['rounds=.nan'], /rounds must be a whole number, not NaN/],
    ['infinity', ['roles.solver.optim.learning_rate=.inf'], /learning_rate must be a number, not Infinity/],
    ['text without a part', ['settings.prompt=x'], /prompt must be text with "\{question\}" in it, not "x"/],
    ['key of every object', ['constructor.prototype.x=3'], /mine\.yaml: constructor is not a known key/],
    ['prototype', ['__proto__.x=3'], /--set __proto__\.x=3: __proto__ is not a known key/],
    ['prototype within', ['roles.__proto__.x=3'], /__proto__ is not a known key/],
    ['alias without end', ['a=&a [*b]'], /the value is not valid YAML/],
    ['no key', ['rounds'], /--set rounds has no key and value/],
    ['key through a value', ['rounds.x=1'], /--set rounds\.x=1: rounds is not a table of keys/],
    ['value that is no YAML', ['rounds=[1'], /--set rounds=\[1: the value is not valid YAML/],
  ])('refuses: %s', async (_, set, message, hint = /^/) => {
    const failure = await load({ set }, fakeRecipe, knotty).catch((error) => error)
    expect(failure).toBeInstanceOf(ConfigError)
    expect(failure.message).toMatch(message)
    expect(failure.message).not.toContain('\n')
    expect(failure.hint ?? '').toMatch(hint)
  })

  it('names the role that is missing', async () => {
    const text = fakeRecipe.replace(/ {2}proposer.*\n/, '')
    await expect(load({}, text)).rejects.toThrow(
      /roles\.proposer is missing; fake is played by proposer, solver/,
    )
  })

  it.each([
    ['a: [1', /mine\.yaml is not valid YAML: .*line 1/],
    ['a: 1\na: 2', /Map keys must be unique/],
    ['a: *b', /mine\.yaml is not valid YAML: Unresolved alias/],
    [growing, /mine\.yaml is not valid YAML: Excessive alias count/],
    ['- 1', /must be a table of keys/],
    ['', /must be a table of keys/],
  ])('must be YAML: %j', async (text, message) => {
    await expect(load({}, text)).rejects.toThrow(message)
  })

  it('must be a file', async () => {
    const folder = join(temporaryFolder(), 'mine.yaml')
    mkdirSync(folder)
    const failure = await loadRecipe(folder, { loadGame }).catch((error) => error)
    expect(failure).toBeInstanceOf(ConfigError)
    expect(failure.message).toContain(`The run file ${folder} cannot be read`)
  })

  it('finds files beside itself first, then in the package', () => {
    const folder = temporaryFolder()
    expect(resolvePath(folder, 'package.json')).toBe(join(projectRoot(), 'package.json'))
    writeFileSync(join(folder, 'package.json'), '')
    expect(resolvePath(folder, 'package.json')).toBe(join(folder, 'package.json'))
    expect(resolvePath(folder, 'nowhere.txt')).toBe(join(folder, 'nowhere.txt'))
  })
})

type PlayedRecipe = Recipe & { settings: { [key: string]: unknown; proposer: Record<string, string> } }

describe('the recipes of the package', () => {
  it('are valid', async () => {
    expect(recipeNames().length).toBeGreaterThanOrEqual(5)
    for (const name of recipeNames()) expect((await loadRecipe(name, { loadGame })).name).toBe(name)
  })

  it.each([
    ['pasodoble-random-tiny', { answer_reward: 'random' }],
    ['pasodoble-partial-random-tiny', { answer_reward: 'partially_random' }],
    ['pasodoble-frozen-proposer-tiny', { frozen: 'proposer' }],
    ['pasodoble-no-diversity-tiny', { diversity: false }],
    ['pasodoble-self-play-tiny', { self_play: true }],
    ['pasodoble-no-knowledge-tiny', { knowledge: 'none' }],
  ])('%s differs from pasodoble-tiny in nothing but what it is named for', async (name, change) => {
    const load = async (recipe: string) => (await loadRecipe(recipe, { loadGame })).recipe as PlayedRecipe
    const [game, control] = [await load('pasodoble-tiny'), await load(name)]
    const { user, user_without_knowledge } = game.settings.proposer
    expect(control).toMatchObject({ settings: change })
    expect({
      ...control,
      settings: {
        ...control.settings,
        ...Object.fromEntries(Object.keys(change).map((key) => [key, game.settings[key]])),
        proposer: { ...control.settings.proposer, user, user_without_knowledge },
      },
    }).toEqual(game)
  })

  it.each(['pasodoble-qwen3-1.7b', 'pasodoble-qwen3-4b', 'gar-r1-distill-qwen-7b'])(
    '%s begins where the recipes of its stages end',
    async (name) => {
      const { recipe } = await loadRecipe(name, { loadGame })
      const stages = recipeNames().filter((each) => each.startsWith(`${name}-`))
      const ends = stages.map(async (stage) => {
        const { rounds, seed, roles } = (await loadRecipe(stage, { loadGame })).recipe
        const [role] = Object.keys(roles)
        return `runs/${stage}-seed${seed}/checkpoints/${String(rounds).padStart(6, '0')}/${role}`
      })
      const starts = Object.values(recipe.roles).map(({ model }) => model)
      expect(stages.length).toBeGreaterThan(0)
      expect(starts).toEqual(expect.arrayContaining(await Promise.all(ends)))
    },
  )

  it('have the settings of the papers', async () => {
    const settings = async (name: string) => {
      const { recipe } = await loadRecipe(name, { loadGame })
      return { ...recipe.settings, rounds: recipe.rounds, seed: recipe.seed }
    }
    const limits = { temperature: 0.6, top_p: 1, top_k: 0, max_tokens: 6144 }
    for (const size of ['1.7b', '4b'])
      expect(await settings(`pasodoble-qwen3-${size}`)).toMatchObject({
        ...{ rounds: 2000, seed: 42, texts_per_round: 1, questions: 6, answers: 6 },
        ...{ tau_low: 0.2, tau_high: 1, w: 0.2, tau_div: 0.3, tau_sim: 0.8, history_size: 100 },
        ...{ clip_low: 0.2, clip_high: 0.2, scale_rewards: true, normaliser: 'constant_length' },
        proposer: { ...limits, max_prompt_tokens: 1280 },
        solver: { ...limits, max_prompt_tokens: 512 },
      })
    expect(await settings('gar-r1-distill-qwen-7b')).toMatchObject({
      ...{ rounds: 400, problems_per_round: 24, answers: 8, references: 'paired', judge: 'slices' },
      ...{ lambda1: 1, lambda2: 1, lambda3: 1, lambda4: 0.5 },
      slicer: { max_tokens: 320 },
      discriminator: { max_tokens: 128 },
    })
    expect(await settings('gar-r1-distill-qwen-7b-1-discriminator-sft')).toMatchObject({
      ...{ rounds: 500, batch_size: 128, labels: 'endpoint', endpoint: { model: 'o4-mini' } },
      ...{ data: { rows: 9373 }, slices: 64_000 },
    })
  })

  it('know every kind of problem of the arithmetic world', () => {
    const text = readFileSync(join(projectRoot(), 'recipes/arithmetic/knowledge.jsonl'), 'utf8')
    expect(
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).text),
    ).toEqual(knowledgeTexts)
  })

  it('go by name, and a wrong name is told the nearest', async () => {
    await expect(loadRecipe('pasodoble-tinny', { loadGame })).rejects.toMatchObject({
      hint: 'Did you mean pasodoble-tiny?',
    })
    await expect(loadRecipe('./none.yaml', { loadGame })).rejects.toThrow(
      'The run file ./none.yaml does not exist.',
    )
  })
})

describe('a run that has begun', () => {
  const change = async (...set: string[]): Promise<[Recipe, Recipe]> => [
    (await load()).recipe,
    (await load({ set })).recipe,
  ]

  it('may be made longer, and measured and saved at other rounds', async () => {
    const [begun, wanted] = await change(
      'rounds=99',
      'checkpoint.every=1',
      'anchors.every=3',
      'engine.threads=1',
    )
    expect(() => checkUnchanged(begun, wanted, 'runs/x')).not.toThrow()
  })

  it.each(['seed=1', 'settings.questions=4', 'roles.solver.optim.beta1=0.5', 'anchors.heldout.n=5'])(
    'keeps %s',
    async (set) => {
      const [begun, wanted] = await change(set)
      const key = set.split('=')[0]!
      expect(() => checkUnchanged(begun, wanted, 'runs/x')).toThrow(`${key} is `)
    },
  )
})
