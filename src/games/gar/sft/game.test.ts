import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folders.js'
import { openAiServer } from '../../../../test/support/openai-server.js'
import { type Script, scriptedContext, scriptedPolicy } from '../../../../test/support/scripted.js'
import type { RoundReport } from '../../game.js'
import { config as schema } from './config.js'
import { garSft } from './game.js'

const problems = Array.from({ length: 20 }, (_, i) => ({
  problem: `Problem ${i}?`,
  answer: `${i}`,
  generations: [`<think>${i}+1=${i + 1}\nso\n${i}+2=${i + 2}</think>${i}`],
}))

function write(rows: readonly object[]): string {
  const path = join(temporaryFolder(), 'rows.jsonl')
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  return path
}

async function play(settings: object, rounds: number, script: Script = () => '**YES**', from = 0) {
  const discriminator = scriptedPolicy(script)
  const config = schema.parse({
    ...{ data: { path: write(problems) }, slicer: { min_tokens: 1, markers: [] } },
    ...{ batch_size: 8, validation_share: 0.3, validate_every: 1 },
    ...settings,
  })
  const given = { config, policies: { discriminator }, rounds }
  let state = await garSft.setup(scriptedContext(given))
  const reports: RoundReport[] = []
  for (let round = from; round < rounds; round++) {
    const next = await garSft.round(scriptedContext({ ...given, round }), JSON.parse(JSON.stringify(state)))
    state = next.state
    reports.push(next.report)
  }
  const taught = discriminator.trained.flatMap(({ data }) =>
    data.map(({ targets, weights }) =>
      String.fromCharCode(...targets.filter((_, t) => weights![t] !== 0)).replace('\ue001', ''),
    ),
  )
  return { discriminator, reports, state, taught }
}

describe('gar-sft', () => {
  it('teaches analysis, verdict and rationale, and the mean over what is taught', async () => {
    const { discriminator, taught } = await play({}, 2)
    expect(discriminator.trained.map(({ data }) => data.length)).toEqual([8, 8])
    for (const text of taught) expect(text).toMatch(/^\d[\d+=]*\n\*\*(YES\*\*\nEvery|NO\*\*\nIt reads)/)
    const { data, loss } = discriminator.trained[0]!
    expect(loss).toEqual({ name: 'cross_entropy' })
    const total = data.reduce((sum, { weights }) => sum + weights!.reduce((a, b) => a + b, 0), 0)
    expect(total).toBeCloseTo(1, 5)
  })

  it('teaches both verdicts alike, without a word why where that is off', async () => {
    const { taught, reports } = await play({ rationale: false, patience: 0 }, 6)
    const yes = taught.filter((text) => text.endsWith('\n**YES**')).length
    const no = taught.filter((text) => text.endsWith('\n**NO**')).length
    expect(yes + no).toBe(48)
    expect(Math.abs(yes - no)).toBeLessThan(12)
    expect(reports[0]!.metrics['labels/yes_frac']).toBeGreaterThan(0.2)
  })

  it('never teaches a slice of a held-out problem', async () => {
    const { discriminator, reports } = await play({ patience: 0 }, 12)
    const shown = (text: string) => /Problem (\d+)\?/.exec(text)![1]!
    const taughtOf = new Set(
      discriminator.trained.flatMap(({ data }) =>
        data.map(({ tokens }) => shown(String.fromCharCode(...tokens))),
      ),
    )
    const measured = new Set(reports.flatMap(({ rollouts }) => rollouts.map(({ prompt }) => shown(prompt))))
    expect(measured.size).toBeGreaterThan(2)
    expect([...measured].some((problem) => taughtOf.has(problem))).toBe(false)
  })

  it('measures verdicts and records them', async () => {
    const { reports } = await play({}, 1)
    expect(reports[0]!.metrics).toMatchObject({
      'judging/balanced_accuracy': 0.5,
      'judging/yes_sound_frac': 1,
      'judging/yes_flawed_frac': 1,
      'judging/parsed_frac': 1,
    })
    const [record] = reports[0]!.rollouts
    expect(record).toMatchObject({ role: 'discriminator', trained: false, text: '**YES**' })
  })

  it('ends once verdicts get no better, and says so', async () => {
    const { reports, discriminator, state } = await play({ patience: 2 }, 6)
    expect(reports.map(({ skipped }) => skipped !== undefined)).toEqual([
      false,
      false,
      false,
      true,
      true,
      true,
    ])
    expect(discriminator.version).toBe(3)
    expect(state).toMatchObject({ ended: true, best: 0.5 })
    expect((await play({ patience: 0 }, 6)).discriminator.version).toBe(6)
  })

  it('draws what it would have drawn, whatever round it goes on from', async () => {
    const whole = await play({ patience: 0 }, 4)
    const rest = await play({ patience: 0 }, 4, () => '**YES**', 2)
    expect(rest.taught).toEqual(whole.taught.slice(16))
    expect(rest.reports.map(({ rollouts }) => rollouts)).toEqual(
      whole.reports.slice(2).map(({ rollouts }) => rollouts),
    )
  })

  it('tells styles apart by their source', async () => {
    const path = write([
      { problem: 'Problem of others?', text: '7+7=14\nand so on' },
      { problem: 'x', text: '1' },
    ])
    const settings = { labels: 'source', others: { path }, validation_share: 0.5, patience: 0 }
    const { taught } = await play(settings, 4)
    expect(new Set(taught)).toEqual(new Set(['**YES**', '**NO**']))
  })

  it('asks a service for labels in the first round, not before', async () => {
    const { url, seen } = await openAiServer({
      answer: ({ messages }) => [
        /=\d*[02468]\b/.test(messages!.at(-1)!.content) ? 'even\n**YES**' : 'odd\n**NO**',
      ],
    })
    const file = join(temporaryFolder(), 'labels.jsonl')
    const settings = {
      labels: 'endpoint',
      endpoint: { url, model: 'test-model', file, api_key_env: 'NO_SUCH_KEY' },
    }
    await play(settings, 0)
    expect(seen).toHaveLength(0)
    const { taught } = await play(settings, 1)
    expect(seen).toHaveLength(60)
    expect(seen[0]!.body.messages![0]!.content).toContain('**YES**')
    expect(taught.every((text) => /^(even|odd)\n\*\*(YES|NO)\*\*$/.test(text))).toBe(true)
  })

  it('takes no more slices than asked for, and leaves out long sequences', async () => {
    const { reports } = await play({ slices: 20, patience: 0 }, 1)
    expect(reports[0]!.metrics['data/epoch']).toBeGreaterThan(0.5)
    await expect(play({ max_sequence_tokens: 50 }, 1)).rejects.toMatchObject({ code: 'data' })
  })

  it.each([[{ labels: 'endpoint' }], [{ labels: 'source' }], [{ data: {} }]])(
    '%j: says what is missing',
    async (settings) => {
      await expect(play(settings, 0)).rejects.toMatchObject({ code: 'config', exitStatus: 2 })
    },
  )
})
