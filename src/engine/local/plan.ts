/** What the opened policies will need in memory, worked out before the first round. */
import { ConfigError, EngineError } from '../../core/errors.js'
import type { MemoryPlan } from '../engine.js'
import type { Model } from './model/model.js'
import type { Differentiated } from './model/training.js'
import type { Parameter } from './model/weights.js'
import { bytesPerToken } from './sample/cache.js'
import { keptBytes } from './train/trainer.js'

export interface Load {
  /** Tokens of the largest training batch. */
  trainTokens: number
  longestSequence: number
  sampleRows: number
}

export interface PlanLimits {
  tokenBudget: number
  maxRows: number
  cacheBytes: number
  activationBytes: number
  logitsBudget: number
}

/** Node, the library and its thread pool before any model: measured 120 MB on Linux, with room for the heap to grow. */
const processBytes = 200e6

/** Throws EngineError where the machine has less memory than the plan asks for, ConfigError for sequences beyond a model's positions. */
export function planMemory(
  models: readonly Model[],
  layerOf: (model: Model, recompute: boolean) => Differentiated,
  load: Load,
  limits: PlanLimits,
): MemoryPlan {
  const weights = new Set<Parameter>()
  const trained = new Set<Parameter>()
  for (const model of models) {
    for (const parameter of model.base.values()) weights.add(parameter)
    for (const parameter of model.trained.values()) {
      weights.add(parameter)
      trained.add(parameter)
    }
  }
  const bytesOf = (parameters: Iterable<Parameter>) =>
    [...parameters].reduce((sum, p) => sum + p.data.byteLength, 0)
  const most = (size: (model: Model) => number) => Math.max(0, ...models.map(size))
  const parts = [
    { what: 'weights', bytes: bytesOf(weights) },
    { what: 'gradients and optimizer', bytes: 3 * bytesOf(trained) },
    { what: 'activations', bytes: most((model) => activationBytes(model, layerOf, load, limits)) },
    { what: 'logits', bytes: most((model) => logitsBytes(model, load, limits)) },
    { what: 'key-value cache', bytes: most((model) => cacheBytes(model, load, limits)) },
    { what: 'program', bytes: processBytes },
  ].sort((a, b) => b.bytes - a.bytes)
  const plan = {
    parts,
    totalBytes: parts.reduce((sum, part) => sum + part.bytes, 0),
    availableBytes: availableMemory(),
  }
  if (plan.totalBytes > plan.availableBytes) throw tooLittle(plan)
  const positions = Math.min(...models.map((model) => model.config.maxPosition))
  if (load.longestSequence > positions)
    throw new ConfigError(
      `Sequences of up to ${load.longestSequence} tokens, prompt and completion, do not fit the model's ${positions} positions.`,
      { hint: 'Lower max_tokens or max_prompt_tokens; max_position_embeddings in config.json is the limit.' },
    )
  return plan
}

/** Kept values of all layers and the intermediates of one layer's backward pass, about twice what the layer keeps. */
function activationBytes(
  model: Model,
  layerOf: (model: Model, recompute: boolean) => Differentiated,
  load: Load,
  limits: PlanLimits,
): number {
  const longest = Math.min(load.longestSequence, load.trainTokens)
  const tokens = Math.max(longest, Math.min(limits.tokenBudget, load.trainTokens))
  const sizes = { N: tokens, B: Math.ceil(tokens / longest), S: longest }
  const { layers } = model.config
  const keeping = keptBytes(layerOf(model, false), layers, sizes)
  const kept = keeping <= limits.activationBytes ? keeping : keptBytes(layerOf(model, true), layers, sizes)
  return kept + (2 * keeping) / layers
}

/** Log-probabilities, their exponentials and their gradient. */
function logitsBytes(model: Model, load: Load, limits: PlanLimits): number {
  const rows = Math.min(
    load.trainTokens,
    Math.max(16, Math.floor(limits.logitsBudget / model.config.vocabSize)),
  )
  return 4 * 4 * rows * model.config.vocabSize
}

function cacheBytes(model: Model, load: Load, limits: PlanLimits): number {
  const rows = Math.min(load.sampleRows, limits.maxRows)
  const row = load.longestSequence * bytesPerToken(model.config)
  return Math.max(row, Math.min(limits.cacheBytes, rows * row))
}

/** Bytes this process may still take, what it holds already included. */
function availableMemory(): number {
  return process.availableMemory() + process.memoryUsage.rss()
}

function tooLittle({ parts, totalBytes, availableBytes }: MemoryPlan): EngineError {
  const gb = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`
  const largest = parts.slice(0, 2).map(({ what, bytes }) => `${what} ${gb(bytes)}`)
  return new EngineError(
    `The run needs ${gb(totalBytes)} of memory (${largest.join(', ')}, ...), and this machine has ${gb(availableBytes)} free.`,
    { hint: 'Take a smaller model, train a LoRA adapter instead of all weights, or shorten the sequences.' },
  )
}
