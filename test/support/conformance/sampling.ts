import { describe, expect, it } from 'vitest'
import type { Rollout } from '../../../src/core/rollout.js'
import { collect } from '../../../src/engine/engine.js'
import type { Subject } from '../conformance.js'
import {
  histogram,
  largestDifference,
  nextTokenLogprobs,
  rescored,
  sampling,
  samplingDistribution,
  steadyNucleus,
} from '../sampling.js'
import { chiSquareP } from '../statistics.js'
import { drawn, prompts } from './inputs.js'

export function describeSampling(subject: Subject): void {
  const { capabilities, smallVocabulary, tolerance, lacks = [] } = subject
  const truncates = !lacks.includes('truncation')
  const requests = () =>
    prompts(subject.policy().tokenizer).map((prompt, i) => ({ prompt, n: i + 1, seed: 40 + i }))
  const draw = (params = sampling(), from = requests()) => collect(subject.policy().sample(from, params))

  describe('sampling', () => {
    it('gives each completion of each request once, with everything a rollout must say', async () => {
      const rollouts = await draw()
      const wanted = requests().flatMap(({ n }, request) =>
        Array.from({ length: n }, (_, index) => [request, index]),
      )
      expect(rollouts.map((r) => [r.request, r.index])).toEqual(wanted)
      for (const rollout of rollouts) {
        expect(rollout.tokens.length).toBeGreaterThan(0)
        expect(rollout.tokens.length).toBeLessThanOrEqual(12)
        expect(rollout.logprobs.length).toBe(rollout.tokens.length)
        expect(rollout.logprobs.every((value) => value <= 0)).toBe(true)
        expect(rollout.entropies?.length).toBe(capabilities.exactEntropy ? rollout.tokens.length : undefined)
        expect(rollout.version).toBe(subject.policy().version)
      }
    })

    it.each([0, 0.6, 1])('reports raw log-probabilities at temperature %d', async (temperature) => {
      const topK = truncates && temperature === 0.6 ? 4 : 0
      const rollouts = await draw(sampling({ temperature, topK, maxTokens: 40 }))
      const scores = await rescored(subject.policy(), prompts(subject.policy().tokenizer), rollouts)
      for (const [i, rollout] of rollouts.entries()) {
        expect(largestDifference(rollout.logprobs, scores[i]!)).toBeLessThan(tolerance)
      }
    })

    it('stays exact over long completions', async () => {
      const rollouts = await draw(sampling({ maxTokens: 300 }))
      expect(Math.max(...rollouts.map((r) => r.tokens.length))).toBeGreaterThan(60)
      const scores = await rescored(subject.policy(), prompts(subject.policy().tokenizer), rollouts)
      for (const [i, rollout] of rollouts.entries()) {
        expect(largestDifference(rollout.logprobs, scores[i]!)).toBeLessThan(tolerance)
      }
    })

    it('is greedy at temperature 0, whatever the seed', async () => {
      const params = sampling({ temperature: 0 })
      const from = requests().map((request) => ({ ...request, n: 2 }))
      const rollouts = await draw(params, from)
      const again = await draw(
        params,
        from.map((request) => ({ ...request, seed: request.seed + 1000 })),
      )
      expect(drawn(again)).toEqual(drawn(rollouts))
      for (let i = 0; i < rollouts.length; i += 2)
        expect(rollouts[i]!.tokens).toEqual(rollouts[i + 1]!.tokens)
    })

    it('stops at the token limit and says so', async () => {
      for (const maxTokens of [1, 5]) {
        const rollouts = await draw(sampling({ maxTokens }))
        const cut = rollouts.filter((rollout) => rollout.stop === 'length')
        expect(cut.length).toBeGreaterThan(0)
        expect(cut.every((rollout) => rollout.tokens.length === maxTokens)).toBe(true)
      }
    })

    it('stops at ids that are asked for, and leaves them out of the text', async () => {
      const free = await draw(sampling({ temperature: 0, maxTokens: 12 }))
      const long = free.find((rollout) => rollout.tokens.length >= 4)!
      const id = long.tokens[2]!
      const at = long.tokens.indexOf(id)
      const stopped = await draw({ ...sampling({ temperature: 0, maxTokens: 12 }), stopIds: [id] })
      const rollout = stopped.find((r) => r.request === long.request && r.index === long.index)!
      expect(rollout.stop).toBe('stop')
      expect(rollout.tokens).toEqual(long.tokens.slice(0, at + 1))
      expect(rollout.text).toBe(subject.policy().tokenizer.decode(long.tokens.slice(0, at)))
    })

    it('completes an empty request list and a request of no completions with nothing', async () => {
      expect(await draw(sampling(), [])).toEqual([])
      const [first, second] = requests()
      const rollouts = await draw(sampling(), [{ ...first!, n: 0 }, second!])
      expect(rollouts.map((rollout) => rollout.request)).toEqual([1, 1])
    })
  })

  describe('ends of completions', () => {
    it.skipIf(!smallVocabulary)(
      'ends at an end token, which is kept in the tokens and left out of the text',
      async () => {
        const { tokenizer } = subject.policy()
        const rollouts = await draw(sampling({ maxTokens: 80 }), [{ ...requests()[1]!, n: 64 }])
        const ended = rollouts.filter((rollout) => rollout.stop === 'eos')
        expect(ended.length).toBeGreaterThan(0)
        for (const rollout of rollouts) {
          const ends = Array.from(rollout.tokens, (token) => tokenizer.eosIds.includes(token))
          expect(ends.indexOf(true)).toBe(rollout.stop === 'eos' ? ends.length - 1 : -1)
          expect(rollout.text).toBe(tokenizer.decode(rollout.tokens))
        }
        expect(tokenizer.decode([tokenizer.eosIds[0]!])).toBe('')
        expect(tokenizer.decode([tokenizer.eosIds[0]!], { special: true })).not.toBe('')
      },
    )

    it('ends at the first stop string, which is kept in the tokens and left out of the text', async () => {
      const { tokenizer } = subject.policy()
      const params = sampling({ maxTokens: 30 })
      const [free] = await draw(params, [requests()[2]!])
      // Two characters of the middle of the text: in most tokenizers more than one token.
      const middle = Math.floor(free!.text.length / 2)
      const stop = free!.text.slice(middle, middle + 2)
      const first = free!.text.indexOf(stop)
      const [stopped] = await draw({ ...params, stop: ['no such string', stop] }, [requests()[2]!])
      expect(stopped!.stop).toBe('stop')
      expect(stopped!.text).toBe(free!.text.slice(0, first))
      expect(stopped!.tokens).toEqual(free!.tokens.slice(0, stopped!.tokens.length))
      expect(tokenizer.decode(stopped!.tokens)).toContain(stop)
      expect(tokenizer.decode(stopped!.tokens.slice(0, -1))).not.toContain(stop)

      // Two stop strings that end together: the text ends before the longer.
      const [both] = await draw({ ...params, stop: [stop.slice(1), stop] }, [requests()[2]!])
      const sampled = tokenizer.decode(both!.tokens)
      const starts = [stop.slice(1), stop].map((s) => sampled.indexOf(s)).filter((at) => at >= 0)
      expect(both!.text).toBe(sampled.slice(0, Math.min(...starts)))

      const [limited] = await draw({ ...params, maxTokens: stopped!.tokens.length, stop: [stop] }, [
        requests()[2]!,
      ])
      expect(limited!.stop).toBe('stop')
    })
  })

  describe('seeds and company', () => {
    it('draws different completions for one prompt and for different seeds', async () => {
      const { prompt } = requests()[2]!
      const rollouts = await draw(sampling({ maxTokens: 20 }), [
        { prompt, n: 4, seed: 1 },
        { prompt, n: 4, seed: 2 },
      ])
      expect(new Set(drawn(rollouts).map(String)).size).toBe(8)
    })

    it.skipIf(!capabilities.deterministic)(
      'draws the same tokens from the same seed in any company',
      async () => {
        const params = sampling({ maxTokens: 40 })
        const all = await draw(params)
        for (const [i, request] of requests().entries()) {
          const mine = all.filter((rollout) => rollout.request === i)
          expect(drawn(await draw(params, [request]))).toEqual(drawn(mine))
          const fewer = { ...request, n: 1 }
          expect(drawn(await draw(params, [fewer]))).toEqual(drawn(mine.slice(0, 1)))
        }
        const reversed = await draw(params, requests().reverse())
        const back = reversed.map((rollout) => ({
          ...rollout,
          request: requests().length - 1 - rollout.request,
        }))
        back.sort((a, b) => a.request - b.request || a.index - b.index)
        expect(drawn(back)).toEqual(drawn(all))
      },
    )

    it.skipIf(!smallVocabulary)('serves more requests than fit in one batch', async () => {
      const few = requests()
      const count = capabilities.remote ? 150 : 400
      const many = Array.from({ length: count }, (_, i) => ({ ...few[i % few.length]!, n: 2, seed: i }))
      const params = sampling({ maxTokens: 16 })
      const rollouts = await draw(params, many)
      expect(rollouts.length).toBe(2 * count)
      const scores = await rescored(
        subject.policy(),
        many.map((request) => request.prompt),
        rollouts,
      )
      const errors = rollouts.map((rollout, i) => largestDifference(rollout.logprobs, scores[i]!))
      expect(Math.max(...errors)).toBeLessThan(tolerance)
      if (capabilities.deterministic) {
        const alone = await draw(params, [many[count - 1]!])
        expect(drawn(alone)).toEqual(drawn(rollouts.slice(-2)))
      }
    })

    it('serves calls made at the same time as it serves them in turn', async () => {
      const halves = [requests().slice(0, 2), requests().slice(2)]
      const expected = await Promise.all([draw(sampling(), halves[0]!)])
      const later = await draw(sampling(), halves[1]!)
      const data = prompts(subject.policy().tokenizer).map((p) => ({ tokens: p, targets: p }))
      const scores = await subject.policy().logprobs(data)
      const [first, second, together] = await Promise.all([
        draw(sampling(), halves[0]!),
        draw(sampling(), halves[1]!),
        subject.policy().logprobs(data),
      ])
      if (capabilities.deterministic)
        expect([first, second].map(drawn)).toEqual([...expected, later].map(drawn))
      for (const [i, values] of together.entries()) {
        expect(largestDifference(values, scores[i]!)).toBeLessThan(tolerance)
      }
    })

    it('can be interrupted, by a signal or by leaving the stream, and then used again', async () => {
      const policy = subject.policy()
      const many = Array.from({ length: 50 }, (_, i) => ({ ...requests()[2]!, n: 4, seed: i }))
      const stopper = new AbortController()
      const seen: Rollout[] = []
      const reading = async () => {
        for await (const rollout of policy.sample(many, sampling({ maxTokens: 100 }), stopper.signal)) {
          seen.push(rollout)
          stopper.abort()
        }
      }
      await reading().catch((error) => expect((error as Error).name).toBe('AbortError'))
      expect(seen.length).toBeLessThan(200)
      for await (const _ of policy.sample(many, sampling({ maxTokens: 100 }))) break
      await expect(collect(policy.sample(many, sampling(), AbortSignal.abort()))).rejects.toThrow()
      expect((await draw()).length).toBe(15)
    })
  })

  describe.skipIf(!smallVocabulary)('distributions', () => {
    it.for<{ temperature: number; topK?: number; nucleus?: number }>([
      { temperature: 1 },
      { temperature: 0.7 },
      { temperature: 1, topK: 3 },
      { temperature: 0.7, nucleus: 0.8 },
      { temperature: 1, nucleus: 1e-6 },
    ])('draws with the frequencies of %o', async ({ nucleus, ...shape }, { skip }) => {
      skip(!truncates && (nucleus ?? shape.topK) !== undefined)
      const policy = subject.policy()
      const { prompt } = requests()[1]!
      const logprobs = await nextTokenLogprobs(policy, prompt)
      const topP = nucleus === undefined ? 1 : steadyNucleus(logprobs, nucleus, shape.temperature)
      const params = sampling({ ...shape, topP, maxTokens: 1 })
      const rollouts = await draw(params, [{ prompt, n: 3000, seed: 3 }])
      const counts = histogram(
        rollouts.map((rollout) => rollout.tokens[0]!),
        logprobs.length,
      )
      expect(chiSquareP(counts, samplingDistribution(logprobs, { ...shape, topP }))).toBeGreaterThan(1e-4)
    })

    it('draws second tokens and separate seeds with the right frequencies too', async () => {
      const policy = subject.policy()
      const { prompt } = requests()[1]!
      const params = sampling({ temperature: 0, maxTokens: 1 })
      const [first] = await draw(params, [{ prompt, n: 1, seed: 0 }])
      const logprobs = await nextTokenLogprobs(policy, Int32Array.of(...prompt, ...first!.tokens))
      const count = capabilities.remote ? 800 : 3000
      const many = Array.from({ length: count }, (_, seed) => ({ prompt, n: 1, seed }))
      const rollouts = await draw(sampling({ maxTokens: 2 }), many)
      const after = rollouts.filter(
        (rollout) => rollout.tokens[0] === first!.tokens[0] && rollout.tokens.length === 2,
      )
      expect(after.length).toBeGreaterThan(count / 15)
      const counts = histogram(
        after.map((rollout) => rollout.tokens[1]!),
        logprobs.length,
      )
      expect(chiSquareP(counts, samplingDistribution(logprobs))).toBeGreaterThan(1e-4)
    })

    it.skipIf(!capabilities.exactEntropy)('reports the exact entropy of the raw distribution', async () => {
      const from = requests()
        .slice(0, 3)
        .map((request) => ({ ...request, n: 2 }))
      for (const rollout of await draw(sampling({ temperature: 0.5, topK: 4, maxTokens: 3 }), from)) {
        for (const [t, entropy] of rollout.entropies!.entries()) {
          const context = Int32Array.of(...from[rollout.request]!.prompt, ...rollout.tokens.slice(0, t))
          const logprobs = await nextTokenLogprobs(subject.policy(), context)
          const expected = logprobs.reduce((sum, value) => sum - Math.exp(value) * value, 0)
          expect(Math.abs(entropy - expected)).toBeLessThan(tolerance)
        }
      }
    })

    it.skipIf(!capabilities.exactEntropy)(
      'reports the exact entropy of the distribution it drew from, where that is asked for',
      async () => {
        const policy = subject.policy()
        const { prompt } = requests()[1]!
        const first = await nextTokenLogprobs(policy, prompt)
        const shape = { temperature: 0.6, topP: steadyNucleus(first, 0.95, 0.6) }
        const params = { ...sampling({ ...shape, maxTokens: 3 }), samplingEntropy: true }
        for (const { tokens, samplingEntropies } of await draw(params, [{ prompt, n: 4, seed: 5 }])) {
          expect(samplingEntropies!.length).toBe(tokens.length)
          const expected = samplingDistribution(first, shape)
          const entropy = expected.reduce((sum, p) => (p > 0 ? sum - p * Math.log(p) : sum), 0)
          expect(Math.abs(samplingEntropies![0]! - entropy)).toBeLessThan(tolerance)
        }
        const sure = await draw({ ...params, topK: 1 }, [{ prompt, n: 1, seed: 5 }])
        expect([...sure[0]!.samplingEntropies!]).toEqual([...sure[0]!.tokens].map(() => 0))
        const [plain] = await draw(sampling(), [{ prompt, n: 1, seed: 5 }])
        expect(plain!.samplingEntropies).toBeUndefined()
      },
    )
  })
}
