import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sparring } from '../../test/support/command.js'
import { temporaryFolder } from '../../test/support/folders.js'
import { projectRoot } from '../core/paths.js'

const tiny = join(projectRoot(), 'models/tiny')
const events = (stdout: string) =>
  stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

function withQuestions(...questions: string[]): string {
  const cwd = temporaryFolder()
  mkdirSync(join(cwd, 'run/rollouts/round-000001'), { recursive: true })
  const lines = questions.map((question) => JSON.stringify({ parts: { question } }))
  writeFileSync(join(cwd, 'run/rollouts/round-000001/proposer.jsonl'), lines.join('\n'))
  return cwd
}

describe('sparring probe memorisation', () => {
  it('tells every continuation, a row a prefix, and draws them', async () => {
    const cwd = withQuestions('12+34-5', '7*8', '12+34-5', '')
    const flags = ['--model', tiny, '--prefixes', '40,80', '--out', 'm.svg']
    const { stdout, status } = await sparring(['probe', 'memorisation', 'run', ...flags, '--json'], { cwd })
    expect(status).toBe(0)
    const all = events(stdout)
    expect(all.map(({ event }) => event)).toEqual([
      ...Array(4).fill('continuation'),
      'memorisation',
      'memorisation',
      'done',
    ])
    expect(all[0]).toMatchObject({ run: 'run', question: '12+34-5', prefix: 0.4, rest: '34-5' })
    expect(all[4]).toMatchObject({ prefix: 0.4, n: 2, different: 2, exact: { low: 0 } })
    expect(readFileSync(join(cwd, 'm.svg'), 'utf8')).toMatch(/^<svg .*exact match.*ROUGE-L.*<\/svg>\n$/s)

    const text = await sparring(['probe', 'memorisation', 'run', ...flags], { cwd })
    expect(text.stdout).toMatch(/^run: 2 of 2 different questions of proposer, continued by .*tiny\n/)
    expect(text.stdout).toMatch(/\n +40 % {2}\d\.\d{3} \[.*\] {4}\d\.\d{3} \[.*\]\n/)
  })

  it.each<[string[], RegExp]>([
    [['run', '--prefixes', '20,100'], /--prefixes 100 leaves nothing of a question/],
    [['run', '--role', 'critic'], /run holds no question that critic has written\./],
    [['nowhere'], /nowhere holds no question/],
    [['run', '--out', '.'], /\. is a folder\./],
  ])('answers wrong usage with one sentence and status 2: %j', async (args, message) => {
    const cwd = withQuestions('1+1')
    const { stderr, status } = await sparring(['probe', 'memorisation', ...args, '--model', tiny], { cwd })
    expect(stderr).toMatch(message)
    expect(stderr).not.toContain('    at ')
    expect(status).toBe(2)
  })
})

describe('sparring probe entropy', () => {
  it("compares a run's start with its end, in JSON, as tables and as a picture", async () => {
    const cwd = temporaryFolder()
    const set = ['roles.solver.optim.learning_rate=1e-3', 'settings.texts_per_round=2', 'anchors.heldout.n=8']
    const trained = await sparring(
      ['train', 'pasodoble-tiny', '--run', 'run', '--rounds', '1', ...set.flatMap((s) => ['--set', s])],
      { cwd },
    )
    expect(trained.status).toBe(0)
    const flags = ['--limit', '12', '--out', 'e.svg']
    const { stdout, status } = await sparring(['probe', 'entropy', 'run', ...flags, '--json'], { cwd })
    expect(status).toBe(0)
    const all = events(stdout)
    const answers = all.filter(({ event }) => event === 'answer')
    expect(answers.map(({ which }) => which)).toEqual([
      ...Array(12).fill('before'),
      ...Array(12).fill('after'),
    ])
    for (const { sampling, raw, tokens } of answers) {
      expect(Math.round(sampling.zeroShare * tokens) / tokens).toBeCloseTo(sampling.zeroShare, 9)
      expect(raw.mean).toBeGreaterThan(0)
      expect(sampling.mean).toBeLessThan(raw.mean)
    }
    // At temperature 0.6 and top-p 0.95 most tokens of sums that are written out have no alternative.
    const share = all.find(
      ({ event, which, distribution, split, measure }) =>
        event === 'entropy' &&
        [which, distribution, split, measure].join() === 'before,sampling,all,zeroShare',
    )
    expect(share.mean).toBeGreaterThan(0.7)
    expect(answers.slice(0, 12).map(({ raw }) => raw.mean)).not.toEqual(
      answers.slice(12).map(({ raw }) => raw.mean),
    )
    expect(all.at(-1)).toEqual({ event: 'done', probe: 'entropy', out: 'e.svg' })
    expect(readFileSync(join(cwd, 'e.svg'), 'utf8')).toContain('mean over open tokens')

    const text = await sparring(['probe', 'entropy', tiny, 'run', '--limit', '4'], { cwd })
    expect(text.stdout).toMatch(
      /^arithmetic: 4 problems\n {2}before {2}\S+: 4 answers, \d+ % right\n {2}after/,
    )
    expect(text.stdout).toContain('checkpoints/000001/solver')
    expect(text.stdout).toMatch(/mean entropy +all +before +4( +\d\.\d{3}){6}\n/)
  })

  it.each<[string[], RegExp]>([
    [[tiny, '--temperature', '0'], /every entropy would be 0/],
    [[tiny, tiny, tiny], /3 models are more than a before and an after\./],
    [[tiny, '--role', 'solver'], /--role solver needs a run/],
    [[tiny, '--protocol', 'gra'], /There is no protocol gra/],
  ])('answers wrong usage with one sentence and status 2: %j', async (args, message) => {
    const cwd = temporaryFolder()
    const { stderr, status } = await sparring(['probe', 'entropy', ...args, '--limit', '2'], { cwd })
    expect(stderr).toMatch(message)
    expect(status).toBe(2)
    expect(existsSync(join(cwd, 'evals'))).toBe(false)
  })
})
