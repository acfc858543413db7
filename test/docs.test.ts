/** What the documents say of names, settings, links and run files is what the program has. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { projectRoot } from '../src/core/paths.js'
import { loadGame } from '../src/games/index.js'
import { presets } from '../src/games/pasodoble/config.js'
import { presets as rZeroPresets } from '../src/games/r-zero/config.js'
import { activeAlarms } from '../src/runs/alarms.js'
import type { MetricsLine } from '../src/runs/directory.js'
import { loadRecipe } from '../src/runs/recipe.js'
import { temporaryFolder } from './support/folders.js'
import { scriptedRun } from './support/scripted-run.js'

const root = projectRoot()
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const documents = [
  'README.md',
  ...['docs', 'src/games'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, String(name))),
  ),
].filter((file) => file.endsWith('.md'))

/** Rows of all tables whose first cell opens with a name, as cells; names lose their marks. */
function namedRows(file: string): { names: string[]; cells: string[] }[] {
  const lines = read(file)
    .split('\n')
    .filter((line) => line.startsWith('| `'))
  return lines.map((line) => {
    const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim())
    return {
      names: [...cells[1]!.matchAll(/`([^`]+)`/g)].map((match) => match[1]!),
      cells: cells.slice(1, -1),
    }
  })
}

/** Lines of metrics.jsonl of a run file played with scripted policies. */
const play = (runFile: string): Promise<MetricsLine[]> => scriptedRun(join(temporaryFolder(), 'run'), runFile)

const role = (name: string) => `${name}: {model: ${name}, optim: {learning_rate: 1}}`
const runs = [
  `{game: pasodoble, rounds: 1, roles: {${role('proposer')}, ${role('solver')}},
    settings: {old_logprobs: sampler, proposer: {temperature: 1}, solver: {temperature: 1}},
    anchors: {world: arithmetic, heldout: {role: solver, problems: arithmetic}, levels: {role: solver}}}`,
  `{game: pasodoble, rounds: 3, roles: {${role('proposer')}, ${role('solver')}},
    anchors: {every: 1, heldout: {role: solver, problems: arithmetic}, opponents: {questions: 2}},
    checkpoint: {snapshots: 1}, alarms: {truncation_high: {do: rollback, window: 3, threshold: -1}}}`,
  `{game: pasodoble, rounds: 2, roles: {${role('proposer')}, ${role('solver')}},
    settings: {schedule: offline, offline: {proposer_updates: 1}}, anchors: {world: arithmetic}}`,
  `{game: grpo, rounds: 1, roles: {${role('solver')}}, settings: {problems: problems.jsonl, answers: 6}}`,
  `{game: r-zero, rounds: 3, roles: {${role('challenger')}, ${role('solver')}}, anchors: {world: arithmetic},
    settings: {challenger_rounds: 1, pool_rounds: 1, solver_rounds: 1, groups: 1, questions: 6, answers: 6}}`,
  ...['gold', 'majority'].map(
    (labels) => `{game: solver-critic, rounds: 2, roles: {${role('solver')}, ${role('critic')}},
    settings: {problems: problems.jsonl, labels: ${labels}, majority_share: 0.5, warmup: 1, revise: true}}`,
  ),
  `{game: gar, rounds: 1, roles: {${role('reasoner')}, ${role('discriminator')}}, anchors: {world: arithmetic},
    settings: {data: {path: problems.jsonl}, slicer: {min_tokens: 1, markers: []}, probe_every: 1}}`,
  `{game: gar-sft, rounds: 1, roles: {${role('discriminator')}},
    settings: {data: {path: problems.jsonl}, slicer: {min_tokens: 1, markers: []}, validation_share: 0.5}}`,
  `{game: sft, rounds: 1, roles: {${role('student')}},
    settings: {data: [conversations.jsonl], batch_size: 1, validation_share: 0.5}}`,
]

describe('docs/metrics.md', () => {
  const rows = namedRows('docs/metrics.md')

  it('names every number that a run writes, and no other', async () => {
    const lines = (await Promise.all(runs.map(play))).flat()
    const written = [...new Set(lines.flatMap((line) => Object.keys(line)))].filter((name) => name !== 'step')
    const described = rows.flatMap(({ names }) => names).filter((name) => name.includes('/'))
    const pattern = (name: string) =>
      new RegExp(
        `^${name.replace('ROLE', '(proposer|challenger|solver|critic|reasoner|discriminator|student)').replace('pK', 'p\\d').replace('NAME', '\\d')}$`,
      )
    expect(written.filter((name) => !described.some((form) => pattern(form).test(name)))).toEqual([])
    expect(described.filter((form) => !written.some((name) => pattern(form).test(name)))).toEqual([])
  })

  it('states the condition of every alarm', () => {
    const line = (step: number): MetricsLine => ({
      step,
      'questions/valid_frac': 0,
      'diversity/mean': 0,
      'labels/accuracy_valid': 0,
      'critic/evidence_yes_frac': 0,
      'critic/parsed_frac': 0,
      'verdicts/yes_generated_frac': 0,
      'verdicts/parsed_frac': 0,
      'solver/policy/entropy': step < 5 ? 1 : 0,
      'solver/policy/entropy_estimate': 1,
      'solver/len/truncated_frac': 1,
      'solver/group/zero_std_frac': 1,
      'solver/policy/kl_sampler_trainer_v2': 1,
      'solver/verdict/timeout_frac': 1,
      'solver/verdict/error_frac': 0,
      'solver/loss': null,
      'solver/reward/mean': step,
      'heldout/accuracy': step < 5 ? 1 : 0,
      'heldout/accuracy_low': 0,
      'heldout/accuracy_high': 0.1,
    })
    const alarms = activeAlarms(Array.from({ length: 10 }, (_, step) => line(step)))
    const general = (text: string) =>
      text.replaceAll('solver', 'ROLE').replace(' x ', ' × ').replace(' - ', ' − ')
    const stated = rows.filter(({ names }) => !names[0]!.includes('/'))
    expect(stated.map(({ names }) => names[0]).sort()).toEqual(alarms.map(({ name }) => general(name)).sort())
    for (const { name, formula } of alarms) {
      const { cells } = stated.find(({ names }) => names[0] === general(name))!
      expect(cells[1]).toContain(general(formula))
    }
  })
})

describe('the pages of the games', () => {
  const settingsOf = async (game: string): Promise<Record<string, unknown>> =>
    (await loadGame(game)).config.parse({}) as Record<string, unknown>
  const isGroup = (value: unknown): value is object =>
    typeof value === 'object' && value !== null && !Array.isArray(value)

  it.each([
    ...['pasodoble', 'grpo', 'r-zero', 'solver-critic', 'gar', 'sft'].map((game) => [game, game] as const),
    ['gar-sft', 'gar/sft'] as const,
  ])('%s: describe every setting, and no other', async (game, folder) => {
    const settings = await settingsOf(game)
    const groups = Object.values(settings).filter(isGroup)
    const keys = Object.keys(settings).filter((key) => !isGroup(settings[key]))
    const described = namedRows(`src/games/${folder}/README.md`).flatMap(({ names }) => names)
    const all = new Set([...keys, ...groups.flatMap((group) => Object.keys(group))])
    expect([...all].filter((key) => !described.includes(key))).toEqual([])
    expect(described.filter((name) => !name.includes('/') && !all.has(name))).toEqual([])
  })

  it.each([
    ['pasodoble', presets.code],
    ['r-zero', rZeroPresets.code],
  ])('%s: tell the presets apart as they are', async (game, code) => {
    const settings = await settingsOf(game)
    for (const [key, value] of Object.entries(code)) {
      const row = [`\`${key}\``, String(settings[key]), String(value)]
      const rows = namedRows(`src/games/${game}/README.md`).map(({ cells }) => cells.slice(0, 3))
      expect(rows).toContainEqual(row)
    }
  })
})

describe('documents', () => {
  const slug = (heading: string) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-')

  it.each(documents)('%s: links lead somewhere', (file) => {
    const links = [...read(file).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1]!)
    const lost = links.filter((link) => {
      if (/^[a-z]+:/.test(link)) return false
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? file : join(dirname(file), path)
      if (!existsSync(join(root, target))) return true
      const headings = anchor === undefined ? [] : [...read(target).matchAll(/^#+ (.*)$/gm)]
      return anchor !== undefined && !headings.some((match) => slug(match[1]!) === anchor)
    })
    expect(lost).toEqual([])
  })

  const runFiles = documents.flatMap((file) =>
    [...read(file).matchAll(/```yaml\n(game:[\s\S]*?)```/g)].map((match) => [file, match[1]!] as const),
  )

  it.each(runFiles)('%s: the run file shown can be read', async (_, text) => {
    const file = join(temporaryFolder(), 'shown.yaml')
    writeFileSync(file, text)
    expect((await loadRecipe(file, { loadGame })).recipe.rounds).toBeGreaterThan(0)
  })
})
