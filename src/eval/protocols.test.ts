import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ConfigError } from '../core/errors.js'
import { projectRoot } from '../core/paths.js'
import { isEquivalent, lastBoxed } from '../grader/index.js'
import { benchmarkNames, benchmarks } from './benchmarks/registry.js'
import { gameGrading } from './grading.js'
import { promptFor, protocolFor, protocolNames, protocolOf } from './protocols.js'
import { mathsShots } from './shots.js'

const game = (problem: string) => ({
  messages: [{ role: 'user' as const, content: `Play: ${problem}` }],
  suffix: '<',
})
const of = (name: string, changes = {}) => protocolOf(name, game, changes)

describe('a protocol', () => {
  it('is what its paper says', () => {
    expect(of('pasodoble')).toMatchObject({
      samples: 6,
      shots: 0,
      temperature: 0.6,
      topP: 1,
      maxTokens: 6144,
    })
    expect(of('pasodoble-base')).toMatchObject({
      samples: 6,
      shots: 4,
      temperature: 0.6,
      topP: 1,
      maxTokens: 6144,
    })
    expect(of('gar')).toMatchObject({
      samples: 10,
      shots: 0,
      temperature: 0.6,
      topP: 0.95,
      maxTokens: 32_768,
    })
    expect(of('greedy')).toMatchObject({ samples: 1, shots: 0, temperature: 0 })
    expect(of('pasodoble').grader).toMatchObject({ extract: ['last_box'], unevaluated: 'accept' })
    expect(of('game').grader).toMatchObject(gameGrading)
  })

  it('puts the problem in its place, whatever the problem holds', () => {
    const problem = 'What is {problem} in \\boxed{x}, $& and {0}?'
    const { messages, suffix } = promptFor(of('pasodoble'), 'maths', problem) as ReturnType<typeof game>
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user'])
    expect([messages[1]!.content, suffix]).toEqual([problem, '<think>\n'])
    expect(promptFor(of('game'), 'maths', problem)).toEqual(game(problem))
    const greedy = promptFor(of('greedy'), 'choice', problem) as ReturnType<typeof game>
    expect(greedy.messages[0]!.content.startsWith(`${problem}\n\n`)).toBe(true)
    expect(greedy.messages[0]!.content).toContain('letter')
  })

  it('of base models is a text with worked examples whose answers are in boxes', () => {
    const { text } = promptFor(of('pasodoble-base'), 'maths', 'What is 2 + 2?') as { text: string }
    expect(text.match(/^Question: /gm)).toHaveLength(5)
    expect(text.endsWith('\n\nQuestion: What is 2 + 2?\nAnswer:')).toBe(true)
    expect(mathsShots.map(({ answer }) => lastBoxed(answer))).toEqual(['156', '7', '\\frac{1}{4}', '4'])
    expect(isEquivalent('9/36', lastBoxed(mathsShots[2]!.answer)!)).toBe(true)
  })

  it('takes single values from flags', () => {
    expect(of('pasodoble', { samples: 2, seed: 5, topP: undefined })).toMatchObject({
      samples: 2,
      seed: 5,
      topP: 1,
    })
    expect(of('gar', { temperature: 0 })).toMatchObject({ temperature: 0, samples: 1 })
  })

  it('records the prompts that are used, and what programs may use', () => {
    expect(Object.keys(protocolFor(of('gar'), new Set(['maths'])).prompt)).toEqual(['maths'])
    expect(protocolFor(of('gar'), new Set(['code'])).grader.code!.memoryMb).toBeGreaterThan(0)
  })

  it.each([
    [() => of('greedyy'), 'Did you mean greedy?'],
    [() => of('greedy', { samples: 3 }), 'Give --temperature'],
    [() => of('gar', { topP: 0 }), '1 switches it off.'],
    [() => protocolFor(of('pasodoble-base'), new Set(['code'])), 'another one with --protocol'],
  ])('that cannot be is refused: %s', (make, hint) => {
    try {
      make()
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigError)
      expect((error as ConfigError).hint).toContain(hint)
    }
  })
})

describe('docs/evaluation.md', () => {
  const page = readFileSync(join(projectRoot(), 'docs/evaluation.md'), 'utf8')
  const rows = page.split('\n').filter((line) => line.startsWith('| `'))
  const cells = (name: string) =>
    rows
      .find((row) => row.startsWith(`| \`${name}\` |`))
      ?.split('|')
      .map((cell) => cell.trim())

  it('has every benchmark with its size, file and data set', () => {
    for (const { name, size, file, hub } of benchmarks) {
      expect(cells(name)!.slice(2, 5)).toEqual([`${size}`, file ? `\`${file}\`` : '-', `\`${hub.repo}\``])
    }
    for (const name of benchmarkNames) expect(cells(name)).toBeDefined()
  })

  it('has every protocol with its values and its prompts', () => {
    for (const name of protocolNames) {
      const { samples, shots, temperature, topP, maxTokens } = of(name)
      expect(cells(name)!.slice(2, 7)).toEqual([samples, shots, temperature, topP, maxTokens].map(String))
    }
    for (const name of ['greedy', 'pasodoble', 'pasodoble-base', 'gar']) {
      for (const prompt of Object.values(of(name).prompt)) {
        const texts = 'text' in prompt ? [prompt.text] : prompt.messages.map(({ content }) => content)
        for (const text of texts) expect(page).toContain(text)
      }
    }
  })
})
