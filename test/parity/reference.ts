/** The stored reference numbers: see reference.py for what they are and how they were made. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Datum } from '../../src/core/datum.js'
import { projectRoot } from '../../src/core/paths.js'
import type { AdamParams, Engine, LoraSpec, Loss, Policy } from '../../src/engine/engine.js'
import { readSafetensors } from '../support/safetensors.js'

export const checkpoints = ['qwen3-tied', 'qwen2-untied', 'llama-rope31', 'llama-plain-tied'] as const

/** The adapter beside each checkpoint. */
export const lora: LoraSpec = {
  rank: 4,
  alpha: 8,
  targets: ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'],
}

export interface ReferenceCase {
  name: string
  what: 'full' | 'lora'
  loss: Loss
  data: Datum[]
  value: number
  ratio?: { mean: number; max: number }
  /** Of the targets at the loss's temperature, one array a datum. */
  logprobs: Float32Array[]
  gradients: Map<string, Sampled>
}

/** Every n-th entry of a tensor. */
export interface Sampled {
  values: Float32Array
  every: number
}

export interface AdamStep {
  adam: AdamParams
  /** Indices of the datums of each forwardBackward call before the step. */
  calls: number[][]
  losses: number[]
  gradNorm: number
  updateNorm: number
}

export interface Reference {
  model: string
  adapter: string
  sequences: { tokens: Int32Array; targets: Int32Array }[]
  /** Log-softmax of the logits, [T, V] flattened, one array a sequence. */
  logprobs: Float32Array[]
  /** Of the targets with the adapter applied. */
  adapterLogprobs: number[][]
  cases: ReferenceCase[]
  greedy: { prompt: Int32Array; tokens: number[]; logprobs: number[]; entropies: number[] }
  /** A sequence of hundreds of tokens, and the log-probabilities of its targets. */
  long: { tokens: Int32Array; targets: Int32Array; logprobs: number[] }
  /** Change of every trained parameter after all steps. */
  adamw: Partial<Record<'full' | 'lora', { data: Datum[]; steps: AdamStep[]; change: Map<string, Sampled> }>>
}

type StoredDatum = Partial<Record<'weights' | 'advantages' | 'logprobs' | 'referenceLogprobs', number[]>>

export function reference(name: (typeof checkpoints)[number]): Reference {
  const folder = join(projectRoot(), 'test', 'parity', 'fixtures', name)
  const stored = JSON.parse(readFileSync(join(folder, 'reference', 'reference.json'), 'utf8'))
  const tensors = readSafetensors(join(folder, 'reference', 'tensors.safetensors'))
  const kept = stored.kept as Record<string, { scale: number; every: number }>
  const sampled = (prefix: string) =>
    new Map(
      Object.entries(kept)
        .filter(([key]) => key.startsWith(prefix))
        .map(([key, { scale, every }]) => {
          const values = tensors.get(key)!.values.map((integer) => integer * scale)
          return [key.slice(prefix.length), { values, every }] as const
        }),
    )
  const sequences = (stored.sequences as { tokens: number[]; targets: number[] }[]).map((s) => ({
    tokens: Int32Array.from(s.tokens),
    targets: Int32Array.from(s.targets),
  }))
  const series = (prefix: string) => sequences.map((_, i) => tensors.get(`${prefix}logprobs.${i}`)!.values)
  const datums = (data: StoredDatum[]): Datum[] =>
    data.map((datum, i) => ({
      ...sequences[i]!,
      ...Object.fromEntries(Object.entries(datum).map(([key, values]) => [key, Float32Array.from(values)])),
    }))
  return {
    model: join(folder, 'model'),
    adapter: join(folder, 'adapter'),
    sequences,
    logprobs: series(''),
    adapterLogprobs: stored.adapterLogprobs,
    cases: (stored.cases as (ReferenceCase & { data: StoredDatum[] })[]).map((entry) => ({
      ...entry,
      data: datums(entry.data),
      logprobs: series(`${entry.name}/`),
      gradients: sampled(`${entry.name}/`),
    })),
    greedy: { ...stored.greedy, prompt: Int32Array.from(stored.greedy.prompt) },
    long: {
      ...stored.long,
      tokens: Int32Array.from(stored.long.tokens),
      targets: Int32Array.from(stored.long.targets),
    },
    adamw: Object.fromEntries(
      Object.entries((stored.adamw ?? {}) as Record<string, { data: StoredDatum[]; steps: AdamStep[] }>).map(
        ([what, { data, steps }]) => [what, { data: datums(data), steps, change: sampled(`adamw-${what}/`) }],
      ),
    ),
  }
}

/** The inspection a local policy offers beside the contract: gradients accumulated so far, by Hugging Face name. */
export interface Inspectable {
  gradients(): Promise<Map<string, Float32Array>>
}

/** Opens the checkpoint, with the given adapter loaded where `what` is lora. */
export async function openReference(engine: Engine, stored: Reference, what: 'full' | 'lora') {
  if (what === 'full') return (await engine.open({ model: stored.model, seed: 0 })) as Policy & Inspectable
  const policy = await engine.open({ model: stored.model, lora, seed: 0 })
  await policy.load(stored.adapter)
  return policy as Policy & Inspectable
}

/** max |a - b| / max(1e-6, max |b|) over the entries kept; infinite where the sizes do not fit. */
export function relativeError(actual: ArrayLike<number>, expected: Sampled): number {
  const { values, every } = expected
  if (Math.ceil(actual.length / every) !== values.length) return Number.POSITIVE_INFINITY
  let error = 0
  let scale = 1e-6
  for (let i = 0; i < values.length; i++) {
    const difference = Math.abs(actual[i * every]! - values[i]!)
    error = Number.isNaN(difference) ? Number.POSITIVE_INFINITY : Math.max(error, difference)
    scale = Math.max(scale, Math.abs(values[i]!))
  }
  return error / scale
}
