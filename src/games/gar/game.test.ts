import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../test/support/folders.js'
import {
  boxGrader,
  type Script,
  type ScriptedPolicy,
  scriptedContext,
  scriptedPolicy,
} from '../../../test/support/scripted.js'
import type { Grader } from '../../grader/grader.js'
import type { RoundReport, World } from '../game.js'
import { config as schema } from './config.js'
import { gar } from './game.js'

const problems = Array.from({ length: 6 }, (_, i) => ({
  problem: `Question ${i}?`,
  answer: 'right',
  generations: [`<think>${i}+1=2\nreference ${i}\n1+${i}=2</think>\\boxed{right}`],
}))

function write(name: string, rows: readonly object[]): string {
  const path = join(temporaryFolder(), name)
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  return path
}

/** The j-th completion has j + 1 slices, of which the odd ones are sound; every second one is right. */
const reasons: Script = (_, j) =>
  `${Array.from({ length: j + 1 }, (_, i) => `${i % 2 ? 'sound' : 'unsound'} ${i}\n`).join('')}</think>\\boxed{${
    j % 2 ? 'right' : 'wrong'
  }}`
const judges: Script = (prompt) => `hm\n**${/unsound/.test(prompt) ? 'NO' : 'YES'}**\nso`

interface Play {
  settings?: object
  reasoner?: Script
  discriminator?: Script
  grader?: Grader
  world?: World
  rows?: readonly object[]
  rounds?: number
}

async function play({
  settings = {},
  reasoner = reasons,
  discriminator = judges,
  grader = boxGrader(),
  world,
  rows = problems,
  rounds = 1,
}: Play = {}) {
  const policies = { reasoner: scriptedPolicy(reasoner), discriminator: scriptedPolicy(discriminator) }
  const config = schema.parse({
    ...{ problems_per_round: 2, answers: 4 },
    ...settings,
    data: { path: write('problems.jsonl', rows), ...('data' in settings ? (settings.data as object) : {}) },
    slicer: { min_tokens: 1, markers: [], ...('slicer' in settings ? (settings.slicer as object) : {}) },
  })
  const given = { config, policies, grader, rounds, ...(world && { world }) }
  let state = await gar.setup(scriptedContext(given))
  const reports: RoundReport[] = []
  for (let round = 0; round < rounds; round++) {
    const next = await gar.round(scriptedContext({ ...given, round }), JSON.parse(JSON.stringify(state)))
    state = next.state
    reports.push(next.report)
  }
  return { ...policies, config, state, report: reports.at(-1)!, reports }
}

const records = (report: RoundReport, role: string) =>
  report.rollouts.filter((record) => record.role === role)
const judgmentsOf = (report: RoundReport, source: 'generated' | 'reference') =>
  records(report, 'discriminator').filter(({ parts }) => parts.source === source)
const trainedTokens = ({ trained }: ScriptedPolicy) => trained.flatMap(({ data }) => data)

describe('a round', () => {
  it('judges every slice, beside as many references of the same problem', async () => {
    const { report, discriminator } = await play()
    const generated = judgmentsOf(report, 'generated')
    const references = judgmentsOf(report, 'reference')
    expect(generated).toHaveLength(2 * (1 + 2 + 3 + 4))
    expect(references).toHaveLength(generated.length)
    for (const { group, parts, prompt } of references) {
      const [problem] = records(report, 'reasoner').filter((record) => record.group === group)
      expect(prompt).toContain(problem!.parts.problem)
      expect(prompt).toContain(String(parts.slice).trim())
    }
    expect(discriminator.asked[0]!.params).toMatchObject({ maxTokens: 128, temperature: 1 })
  })

  it('pays the reasoner R^m + R^s, one advantage for all tokens of a completion', async () => {
    const { report, reasoner } = await play()
    const rewards = records(report, 'reasoner').slice(0, 4)
    expect(rewards.map(({ reward }) => reward)).toEqual([0, 1.5, 1 / 3, 1.5])
    expect(rewards.map(({ parts }) => [parts.answer_reward, parts.slices])).toEqual([
      [0, 1],
      [1, 2],
      [0, 3],
      [1, 4],
    ])
    const { data, loss } = reasoner.trained[0]!
    expect(loss).toMatchObject({ name: 'ppo', clipLow: 0.8, clipHigh: 1.2, klCoefficient: 0.04 })
    expect(data).toHaveLength(8)
    const [first] = data
    const trained = [...first!.advantages!].filter((advantage) => advantage !== 0)
    expect(new Set(trained).size).toBe(1)
  })

  it('pays the discriminator by source and answer, on generated slices and references together', async () => {
    const { report, discriminator } = await play()
    for (const { reward, parts } of judgmentsOf(report, 'generated')) {
      const no = parts.verdict === 'NO'
      expect(reward).toBe(Number(no) + 0.5 * Number(no !== parts.answer_right))
    }
    for (const { reward, parts } of judgmentsOf(report, 'reference')) {
      expect(reward).toBe(Number(parts.verdict === 'YES'))
    }
    expect(discriminator.version).toBe(1)
    expect(trainedTokens(discriminator)).toHaveLength(records(report, 'discriminator').length)
  })

  it('tells how verdicts, rewards and slices stand', async () => {
    const { metrics } = (await play()).report
    expect(metrics).toMatchObject({
      'reasoner/reward/answer': 0.5,
      'pass_rate/p2': 2,
      'slices/per_completion': 2.5,
      'slices/none_frac': 0,
      'verdicts/parsed_frac': 1,
      'verdicts/yes_reference_frac': 1,
      'verdicts/yes_generated_frac': 0.4,
      'verdicts/balanced_accuracy': 0.8,
      'verdicts/yes_right_frac': 0.5,
      'verdicts/yes_wrong_frac': 0.25,
      'discriminator/lambda3': 1,
      'reasoner/optim/steps': 1,
      'discriminator/optim/steps': 1,
      'reasoner/policy/kl_reference': 0,
    })
    expect(metrics['calibration/source_brier']).toBeCloseTo(0.25, 12)
    expect(metrics['verdicts/alignment']).toBeCloseTo((6 * 0.5 + 4 * 0.75) / 10, 12)
    for (const [name, value] of Object.entries(metrics)) expect(Number.isFinite(value), name).toBe(true)
  })

  it('takes the problems in shuffled passes, round after round', async () => {
    const { reports } = await play({ rounds: 3 })
    const seen = reports.map((report) => [
      ...new Set(records(report, 'reasoner').map(({ parts }) => parts.problem)),
    ])
    expect(seen.map((two) => two.length)).toEqual([2, 2, 2])
    expect(new Set(seen.flat()).size).toBe(6)
  })
})

describe('variants', () => {
  it('grpo judges nothing and trains the reasoner on answers alone', async () => {
    const { discriminator, report } = await play({ settings: { variant: 'grpo' } })
    expect(discriminator.asked).toEqual([])
    expect(discriminator.version).toBe(0)
    expect(records(report, 'reasoner').map(({ reward }) => reward)).toEqual([0, 1, 0, 1, 0, 1, 0, 1])
    expect(
      Object.keys(report.metrics).filter((name) => /^(discriminator|verdicts|slices)/.test(name)),
    ).toEqual([])
  })

  it('raw_critic judges whole solutions and learns nothing', async () => {
    const { discriminator, reasoner, report } = await play({ settings: { variant: 'raw_critic' } })
    expect(judgmentsOf(report, 'generated')).toHaveLength(8)
    expect(judgmentsOf(report, 'generated')[3]!.parts.slice).toContain('sound 3')
    expect([discriminator.version, reasoner.version]).toEqual([0, 1])
  })

  it('fixed pays by verdicts and leaves the discriminator as it is', async () => {
    const { discriminator, report } = await play({ settings: { variant: 'fixed' } })
    expect(discriminator.version).toBe(0)
    expect(records(report, 'reasoner')[1]!.reward).toBe(1.5)
  })

  it.each([
    ['alignment_only', 0, 0.5],
    ['discrimination_only', 1, 0],
  ])('%s pays the discriminator by one of its aims', async (variant, lambda3, lambda4) => {
    const { report } = await play({ settings: { variant } })
    for (const { reward, parts } of records(report, 'discriminator')) {
      const aims = lambda3 * Number(parts.discrimination) + lambda4 * Number(parts.alignment)
      expect(reward).toBe(aims)
    }
    expect(records(report, 'discriminator').some(({ reward }) => reward > 0)).toBe(true)
  })

  it('untruncated lets the discriminator explain at length', async () => {
    const { discriminator } = await play({ settings: { variant: 'untruncated' } })
    expect(discriminator.asked[0]!.params.maxTokens).toBe(4096)
  })

  it('partial asks for three slices, grades nothing and trains nothing behind them', async () => {
    const grader = boxGrader()
    const settings = { variant: 'partial', slicer: { max_tokens: 20 }, answers: 6 }
    const { reasoner, report } = await play({ settings, grader })
    expect(grader.calls).toBe(0)
    expect(reasoner.asked[0]!.params.maxTokens).toBe(3 * 20 + 64)
    expect(report.metrics['slices/per_completion']).toBeCloseTo((1 + 2 + 3 + 3 + 3 + 3) / 6, 12)
    const texts = records(report, 'reasoner').map(({ text }) => text)
    expect(texts[4]).toBe('unsound 0\nsound 1\nunsound 2\n')
    expect(texts[0]).toContain('boxed')
    expect(records(report, 'reasoner')[4]!.parts).toMatchObject({ answer_reward: null, slice_reward: 1 / 3 })
    const lengths = trainedTokens(reasoner).map(({ advantages }) => advantages!.filter((a) => a !== 0).length)
    expect(Math.max(...lengths.slice(2, 6))).toBeLessThanOrEqual(texts[4]!.length)
    expect(judgmentsOf(report, 'reference').some(({ parts }) => /reference/.test(String(parts.slice)))).toBe(
      true,
    )
  })

  it('style draws references from anywhere, with their own questions', async () => {
    const path = write('style.jsonl', [{ problem: 'Elsewhere?', text: 'in style' }])
    const settings = { variant: 'style', references: { path }, slicer: { max_tokens: 20 } }
    const { report } = await play({ settings })
    const references = judgmentsOf(report, 'reference')
    expect(references).toHaveLength(judgmentsOf(report, 'generated').length)
    for (const { prompt } of references) expect(prompt).toContain('Elsewhere?\n\nReasoning slice:\nin style')
    const pooled = await play({ settings: { variant: 'style' } })
    expect(judgmentsOf(pooled.report, 'reference').length).toBeGreaterThan(0)
  })

  it('code runs programs and pays for tests, for the form, and for slices', async () => {
    const rows = [
      {
        problem: 'f(1)=5, f(2)=8',
        examples: [
          { input: '1', output: '5' },
          { input: '2', output: '8' },
        ],
        generations: ['<think>sound</think>```expression\n3*x+2\n```'],
      },
    ]
    const programs = ['3*x+2', 'x+4', 'oops', '']
    const reasoner: Script = (_, j) =>
      j === 3 ? 'sound</think>no code' : `sound</think>\`\`\`expression\n${programs[j]}\n\`\`\``
    const settings = { variant: 'code', language: 'expression', problems_per_round: 1 }
    const { report } = await play({ settings, rows, reasoner })
    const parts = records(report, 'reasoner').map((record) => record.parts)
    expect(parts.map(({ answer_reward }) => answer_reward)).toEqual([2, 1.5, 1, 0])
    expect(parts.map(({ verdict }) => verdict)).toEqual(['passed', 'failed', 'compile_error', 'no_code'])
    expect(report.metrics['pass_rate/mean']).toBe(0.25)
    const base = await play({ settings: { ...settings, code_reward: 'open_r1' }, rows, reasoner })
    const rewards = records(base.report, 'reasoner').map((record) => record.parts.answer_reward as number)
    expect(rewards[0]).toBeCloseTo(2.1, 12)
    expect(rewards[1]).toBeCloseTo(1.05, 12)
    expect(rewards[2]).toBeCloseTo(0.9, 12)
    expect(rewards[3]).toBe(-1)
  })

  it('code in JavaScript is run by the sandbox', async () => {
    const rows = [{ problem: 'twice', examples: [{ input: '4', output: '8' }], generations: ['double it'] }]
    const program = "console.log(2 * Number(require('fs').readFileSync(0, 'utf8')))"
    const reasoner: Script = (_, j) =>
      `so</think>\n\`\`\`javascript\n${j === 0 ? program : 'console.log(7)'}\n\`\`\``
    const settings = { variant: 'code', language: 'javascript', problems_per_round: 1, answers: 2 }
    const { report } = await play({ settings, rows, reasoner })
    const parts = records(report, 'reasoner').map((record) => record.parts)
    expect(parts.map(({ answer_reward }) => answer_reward)).toEqual([2, 1])
  })
})

describe('forms of R^d', () => {
  it('ipw divides by the probability of the source', async () => {
    const { report } = await play({ settings: { rd_form: 'ipw', lambda4: 0 } })
    for (const { reward, parts } of records(report, 'discriminator')) {
      const right = (parts.source === 'reference') === (parts.verdict === 'YES')
      // Both words have the same probability in the script.
      expect(reward).toBe(right ? 2 : 0)
    }
  })

  it('bce weighs both words as targets beside the reward of the answer', async () => {
    const { discriminator, report } = await play({ settings: { rd_form: 'bce' } })
    const [policyLoss, verdictLoss] = discriminator.trained
    expect(policyLoss!.loss.name).toBe('ppo')
    expect(verdictLoss!.loss).toEqual({ name: 'cross_entropy' })
    const judged = records(report, 'discriminator')
    expect(verdictLoss!.data).toHaveLength(2 * judged.length)
    verdictLoss!.data.forEach(({ targets, weights }, i) => {
      const { parts } = judged[Math.floor(i / 2)]!
      const toYes = ((parts.source === 'reference' ? 1 : 0) - 0.5) / judged.length
      const last = String.fromCharCode(targets.at(-1)!)
      expect(weights!.at(-1)).toBeCloseTo(last === 'Y' ? toYes : -toYes, 9)
      expect(weights!.slice(0, -1).every((weight) => weight === 0)).toBe(true)
    })
    expect(discriminator.version).toBe(1)
  })

  it('bce alone makes a step where no judgment is better than another', async () => {
    const settings = { rd_form: 'bce', lambda4: 0, discriminator: { kl: 0 } }
    const { discriminator } = await play({ settings })
    expect(discriminator.trained.map(({ loss }) => loss.name)).toEqual(['cross_entropy'])
    expect(discriminator.version).toBe(1)
  })
})

describe('degenerate play', () => {
  const plain = [0, 1, 0, 1, 0, 1, 0, 1]
  const advantagesOf = (report: RoundReport) => records(report, 'reasoner').map(({ advantage }) => advantage)

  it.each([
    ['YES', 1],
    ['NO', 0],
  ])(
    'a discriminator that always says %s leaves plain GRPO, and halves lambda3 in time',
    async (word, slices) => {
      const given = { discriminator: () => `**${word}**`, rounds: 20 }
      const { report, reports, state } = await play(given)
      const answers = await play({ settings: { variant: 'grpo' }, rounds: 20 })
      expect(records(report, 'reasoner').map(({ reward }) => reward)).toEqual(plain.map((r) => r + slices))
      advantagesOf(report).forEach((advantage, i) => {
        expect(advantage).toBeCloseTo(advantagesOf(answers.report)[i]!, 9)
      })
      expect(report.metrics['verdicts/yes_generated_frac']).toBe(slices)
      expect(reports[19]!.metrics['discriminator/lambda3']).toBe(1)
      expect(state).toEqual({ lambda3: 0.5, constant: 0 })
    },
  )

  it('a discriminator without verdicts neither pays nor costs, and is punished', async () => {
    const { report, state } = await play({ discriminator: () => 'maybe' })
    expect(records(report, 'reasoner').map(({ reward }) => reward)).toEqual(plain)
    expect(records(report, 'discriminator').every(({ reward }) => reward === -0.5)).toBe(true)
    expect(report.metrics['verdicts/parsed_frac']).toBe(0)
    expect(report.metrics).not.toHaveProperty('verdicts/yes_generated_frac')
    expect(state).toEqual({ lambda3: 1, constant: 0 })
  })

  const nul = '\u0000\u001b[2J\ufffd'
  it.each<[string, string | { text: string; stop: 'length' }]>([
    ['nothing', ''],
    ['blanks', ' \n\n '],
    ['empty thoughts', '<think>\n</think>'],
    ['one token', '7'],
    ['an endless completion', { text: 'again\n'.repeat(100), stop: 'length' }],
    ['unclosed tags', '<think>'.repeat(100)],
    ['control characters', `${nul}\n${nul}`],
    ['a verdict of its own', '**YES**'],
  ])('a reasoner that writes %s earns no answer, and the round goes on', async (_, text) => {
    const { report, reasoner } = await play({ reasoner: () => text, discriminator: () => '**YES**' })
    expect(records(report, 'reasoner').every(({ parts }) => parts.answer_reward === 0)).toBe(true)
    expect(records(report, 'reasoner').every(({ reward, advantage }) => reward <= 1 && advantage === 0)).toBe(
      true,
    )
    // The penalty for leaving the start weights alone makes a step.
    expect(reasoner.version).toBeLessThanOrEqual(1)
    for (const [name, value] of Object.entries(report.metrics))
      expect(Number.isFinite(value), name).toBe(true)
  })

  it('a reasoner without slices earns nothing by silence', async () => {
    const reasoner: Script = (_, j) => (j < 2 ? '' : 'sound')
    const { report } = await play({ reasoner })
    expect(
      records(report, 'reasoner')
        .map(({ reward }) => reward)
        .slice(0, 4),
    ).toEqual([0, 0, 1, 1])
    expect(report.metrics['slices/none_frac']).toBe(0.5)
  })

  it('nobody learns where all is equal, and the round says why', async () => {
    const settings = { reasoner: { kl: 0 }, discriminator: { kl: 0 } }
    const { report, reasoner, discriminator } = await play({ settings, reasoner: () => '' })
    expect([reasoner.version, discriminator.version]).toEqual([0, 0])
    expect(report.skipped).toBe('no group has a completion or a judgment better than another')
  })

  it('a completion that was cut off is wrong, whatever it boxed', async () => {
    const reasoner: Script = (_, j) => ({ text: 'sound\nmore\n\\boxed{right}', stop: j ? 'eos' : 'length' })
    const { report } = await play({ reasoner })
    const parts = records(report, 'reasoner').map((record) => record.parts)
    expect(parts.slice(0, 2)).toMatchObject([
      { answer_reward: 0, slices: 2 },
      { answer_reward: 1, slices: 3 },
    ])
  })

  it('a problem whose answer says nothing teaches nobody', async () => {
    const unreadable: Grader = {
      ...boxGrader(),
      grade: async (cases) =>
        cases.map(() => ({ equal: false, extracted: null, reason: 'unparsable_gold', ms: 0 })),
    }
    const { report, reasoner, discriminator } = await play({ grader: unreadable })
    expect(report.rollouts).toEqual([])
    expect(report.skipped).toBe('no problem could be asked and graded')
    expect([reasoner.version, discriminator.version]).toEqual([0, 0])
  })

  it('problems without solutions have no references, prompts over the limit are not put', async () => {
    const bare = problems.map(({ problem, answer }) => ({ problem, answer }))
    const { report } = await play({ rows: bare })
    expect(judgmentsOf(report, 'reference')).toEqual([])
    expect(judgmentsOf(report, 'generated')).toHaveLength(20)
    const mute = await play({ settings: { discriminator: { max_prompt_tokens: 10 } } })
    expect(records(mute.report, 'discriminator')).toEqual([])
    expect(records(mute.report, 'reasoner').map(({ reward }) => reward)).toEqual(plain)
    const unasked = await play({ settings: { reasoner: { max_prompt_tokens: 10 } } })
    expect(unasked.report.skipped).toBe('no problem could be asked and graded')
  })
})

describe('settings', () => {
  it('judges so many slices of a completion at most, evenly spaced', async () => {
    const { report } = await play({ settings: { max_slices: 2 } })
    const [last] = records(report, 'reasoner').filter(({ index }) => index === 3)
    expect(last!.parts.slices).toBe(2)
    const shown = judgmentsOf(report, 'generated').filter(
      ({ group, parts }) => group === 0 && parts.trajectory === 3,
    )
    expect(shown.map(({ parts }) => parts.slice)).toEqual(['unsound 0\n', 'sound 3\n'])
  })

  it('samples several verdicts on a slice', async () => {
    const discriminator: Script = (_, n) => `**${n === 0 ? 'YES' : 'NO'}**`
    const settings = { verdicts: 4, discriminator_group: 'slice' }
    const { report } = await play({ settings, discriminator })
    expect(records(report, 'reasoner')[0]!.parts.slice_reward).toBe(0.25)
    expect(judgmentsOf(report, 'generated')).toHaveLength(80)
  })

  it('hides the question when asked, and never opens thinking for the discriminator', async () => {
    const { discriminator } = await play({ settings: { discriminator: { sees_question: false } } })
    for (const { prompt } of discriminator.asked) {
      expect(prompt).not.toContain('Question')
      expect(prompt).not.toContain('<think>')
    }
    const { encodeChat } = discriminator.tokenizer
    const thinking = scriptedPolicy(judges)
    const tokenizer = {
      ...thinking.tokenizer,
      encodeChat(...[messages, options]: Parameters<typeof encodeChat>) {
        return this.encode(`${messages.at(-1)!.content}|${options?.generationPrompt ? '<think>\n' : ''}`)
      },
    }
    const { encodeJudgePrompt } = await import('./prompts.js')
    const prompt = encodeJudgePrompt(tokenizer, { messages: [{ role: 'user', content: 'x' }] })
    expect(tokenizer.decode(prompt)).toBe('x|')
  })

  it('probes with planted errors and with the discriminator of the start', async () => {
    const settings = { probe_every: 2, probe_slices: 8, discriminator: { kl: 0 } }
    const finds: Script = (prompt) => `**${/\b(\d)\+1=2|1\+(\d)=2/.test(prompt) ? 'YES' : 'NO'}**`
    const { reports } = await play({ settings, discriminator: finds, rounds: 2 })
    const [first, second] = reports.map(({ metrics }) => metrics)
    expect(first).toHaveProperty('judging/balanced_accuracy')
    expect(second!['judging/yes_sound_frac']).toBe(1)
    expect(second!['judging/yes_flawed_frac']).toBeLessThan(1)
    expect(second!['frozen/yes_reference_frac']).toBeGreaterThan(0)
    expect(second!['frozen/balanced_accuracy']).toBeGreaterThan(0.5)
  })

  it('tells verdicts on true steps from those on false ones where the world can, and pays nothing for it', async () => {
    const world: World = {
      name: 'test',
      solve: () => undefined,
      holds: (step, question) =>
        step.includes('3') ? undefined : question === undefined ? step.startsWith('sound') : false,
    }
    const plainly = await play()
    const { report } = await play({ world })
    expect(report.metrics).toMatchObject({
      'audit/in_world_frac': 0.9,
      'audit/yes_true_frac': 1,
      'audit/yes_false_frac': 0,
    })
    expect(report.metrics['audit/true_frac']).toBeCloseTo(3 / 9, 12)
    expect(report.rollouts).toEqual(plainly.report.rollouts)
  })

  it('plans for the largest step', () => {
    const config = schema.parse({
      ...{ problems_per_round: 2, answers: 3, slicer: { max_tokens: 10 } },
      reasoner: { max_tokens: 40, max_prompt_tokens: 20 },
      discriminator: { max_tokens: 8, max_prompt_tokens: 30 },
    })
    expect(gar.workload!(config)).toEqual({ trainTokens: 48 * 38, longestSequence: 60, sampleRows: 48 })
    const bare = schema.parse({
      ...config,
      variant: 'grpo',
      judge: 'none',
      train_discriminator: false,
      lambda2: 0,
    })
    expect(gar.workload!(bare)).toEqual({ trainTokens: 360, longestSequence: 60, sampleRows: 6 })
  })
})
