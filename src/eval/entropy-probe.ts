/** Lets a policy answer problems and takes the entropies of its tokens. */
import { EngineError } from '../core/errors.js'
import type { Rollout } from '../core/rollout.js'
import type { FrozenPolicy } from '../engine/engine.js'
import { encodePrompt } from '../games/chat.js'
import type { AnswerPrompt } from './answerer.js'
import type { BenchmarkProblem } from './benchmarks/problems.js'
import { answerEntropy, type EntropyRecord, RAW_ZERO } from './entropy.js'
import { GRADING, problemSeed } from './evaluate.js'
import type { Judge } from './judge.js'
import { type Protocol, promptFor } from './protocols.js'
import { mapUnordered } from './unordered.js'

export interface EntropyProbeOptions {
  /** Prompts, samples a problem and how they are drawn. */
  protocol: Protocol
  judge: Judge
  signal?: AbortSignal
  progress?: (done: number, total: number) => void
}

/**
 * A record for every answer, by problem, then by number. The same seed draws from common random numbers for two models.
 * Throws EngineError where the engine knows no exact entropies.
 */
export async function probeEntropy(
  policy: FrozenPolicy,
  problems: readonly BenchmarkProblem[],
  { protocol, judge, signal, progress }: EntropyProbeOptions,
): Promise<EntropyRecord[]> {
  const { samples, temperature, topP, maxTokens, stop, seed } = protocol
  const requests = problems.map(({ kind, problem }, i) => ({
    prompt: encode(policy, promptFor(protocol, kind, problem)),
    n: samples,
    seed: problemSeed(seed, i),
  }))
  const params = { maxTokens, temperature, topP, topK: 0, stop, samplingEntropy: true }
  const total = problems.length * samples
  const judged: { request: number; record: EntropyRecord }[] = []
  const take = async (rollout: Rollout, ending: AbortSignal) => {
    const problem = problems[rollout.request]!
    const { right } = await judge.judge(problem, rollout.text, ending)
    return { request: rollout.request, record: recordOf(problem, rollout, right) }
  }
  const ask = (ending: AbortSignal) => policy.sample(requests, params, ending)
  for await (const each of mapUnordered(ask, GRADING, take, signal)) {
    judged.push(each)
    progress?.(judged.length, total)
  }
  signal?.throwIfAborted()
  judged.sort((a, b) => a.request - b.request || a.record.sample - b.record.sample)
  return judged.map(({ record }) => record)
}

function recordOf({ id }: BenchmarkProblem, rollout: Rollout, right: boolean): EntropyRecord {
  const { entropies, samplingEntropies, index, tokens, stop } = rollout
  if (entropies === undefined || samplingEntropies === undefined) {
    throw new EngineError('This engine does not know the entropies of its tokens.', {
      hint: 'Probe a model folder or a run on the local engine.',
    })
  }
  return {
    problem: id,
    sample: index,
    right,
    tokens: tokens.length,
    truncated: stop === 'length',
    sampling: answerEntropy(samplingEntropies),
    raw: answerEntropy(entropies, RAW_ZERO),
  }
}

function encode({ tokenizer }: FrozenPolicy, prompt: AnswerPrompt): Int32Array {
  return 'text' in prompt ? tokenizer.encode(prompt.text) : encodePrompt(tokenizer, prompt)
}
