import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { projectRoot } from '../../core/paths.js'
import { config, presets } from './config.js'

interface JsonSchema {
  description?: string
  default?: unknown
  properties?: Record<string, JsonSchema>
}

describe('config', () => {
  it("holds the paper's numbers by default", () => {
    expect(config.parse({})).toMatchObject({
      questions: 6,
      answers: 6,
      tau_low: 0.2,
      tau_high: 1,
      tau_div: 0.3,
      tau_sim: 0.8,
      w: 0.2,
      history_size: 100,
      clip_low: 0.2,
      clip_high: 0.2,
      diversity_gate: 'at_least',
      proposer: { max_tokens: 6144, max_prompt_tokens: 1280, temperature: 0.6 },
      solver: { max_tokens: 6144, max_prompt_tokens: 512, temperature: 0.6 },
    })
  })

  it("fills in the released code's choices, behind the keys that are given", () => {
    expect(config.parse({ as: 'code' })).toMatchObject(presets.code)
    const mixed = config.parse({ as: 'code', diversity_gate: 'at_least' })
    expect(mixed).toMatchObject({ ...presets.code, diversity_gate: 'at_least' })
  })

  it('gives every preset key another value than the paper', () => {
    const paper: Record<string, unknown> = { ...config.parse({}) }
    for (const [key, value] of Object.entries(presets.code)) expect(paper[key]).not.toBe(value)
  })

  it('reads its own output alike', () => {
    const once = config.parse({ as: 'code', ask_malformed: false, proposer: { think: false } })
    expect(config.parse(JSON.parse(JSON.stringify(once)))).toEqual(once)
  })

  it.each([
    [{ taulow: 0.1 }],
    [{ as: 'prose' }],
    [{ solver: { user: 'no place for it' } }],
    [{ knowledge: { column: 'text' } }],
    [{ questions: 0 }],
    ['pasodoble'],
  ])('refuses %j', (given) => {
    expect(config.safeParse(given).success).toBe(false)
  })

  it('refuses raw log-probabilities in a tempered ratio, and only there', () => {
    const refused = config.safeParse({ old_logprobs: 'sampler' })
    expect(refused.error?.issues[0]).toMatchObject({ path: ['old_logprobs'] })
    const raw = { old_logprobs: 'sampler', proposer: { temperature: 1 }, solver: { temperature: 1 } }
    expect(config.safeParse(raw).success).toBe(true)
    expect(config.safeParse({ old_logprobs: 'sampler', tempered_logprobs: false }).success).toBe(true)
  })

  it('describes every key, gives it a default and names it in the README', () => {
    const readme = readFileSync(join(projectRoot(), 'src', 'games', 'pasodoble', 'README.md'), 'utf8')
    const schema = z.toJSONSchema(config) as JsonSchema
    const groups = Object.entries(schema.properties!).flatMap(([key, value]) => [
      [key, value] as const,
      ...Object.entries(value.properties ?? {}),
    ])
    expect(groups.length).toBeGreaterThan(40)
    for (const [key, { description, default: fallback, properties }] of groups) {
      expect(description, key).toBeTruthy()
      if (!properties) expect(fallback, key).not.toBeUndefined()
      expect(readme, key).toContain(`\`${key}\``)
    }
  })
})
