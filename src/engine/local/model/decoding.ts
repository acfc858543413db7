/**
 * The program that sampling runs, all layers in one graph: B rows take S new tokens each behind what their rows of the
 * key-value caches already hold. Caches are read and extended in place (past and present share a buffer). S = 1 decodes;
 * S > 1 with empty caches reads prompts of equal length.
 */
import type { LoraSpec } from '../../engine.js'
import type { ModelConfig } from '../../hf/config.js'
import { extract, Graph, type Shape, type Value } from '../graph/graph.js'
import { linear, rmsNorm } from '../graph/ops.js'
import { CompiledProgram } from '../graph/program.js'
import { decoderLayer, LayerWeights, rotaryInputs } from './layer.js'

export const pastKey = (layer: number) => `past.${layer}.key`
export const pastValue = (layer: number) => `past.${layer}.value`
export const presentKey = (layer: number) => `present.${layer}.key`
export const presentValue = (layer: number) => `present.${layer}.value`

/**
 * Inputs: x [B, S, D] (embedded tokens), positions [B, S], lastIndex [B] (length - 1 after this run), total [1] (largest
 * length), inverseTemperature [B, 1], caches [B, Hkv, T, dh], weights by their full names.
 * Outputs, for the last of the S tokens: logprobs [B, V] (raw), probabilities [B, V] (tempered), entropy [B, 1] (raw).
 */
export function decodingProgram(
  config: ModelConfig,
  lora: LoraSpec | undefined,
  threading: 'pooled' | 'single',
): CompiledProgram {
  const g = new Graph()
  const { hiddenSize, headDim, heads, kvHeads, vocabSize } = config
  const tables = rotaryInputs(g, config, ['B', 'S'])
  const lastIndex = g.input('lastIndex', ['B'], 'i32')
  const total = g.input('total', [1], 'i32')
  const caches: Value[] = []
  const cacheShape: Shape = ['B', kvHeads, 'T', headDim]

  let x = g.input('x', ['B', 'S', hiddenSize])
  for (let layer = 0; layer < config.layers; layer++) {
    const weights = new LayerWeights(g, config, lora, `model.layers.${layer}.`)
    x = decoderLayer(g, x, weights, tables, (q, k, v) => {
      const past = [g.input(pastKey(layer), cacheShape), g.input(pastValue(layer), cacheShape)]
      const [attended, key, value] = g.node(
        'GroupQueryAttention',
        [q, k, v, ...past, lastIndex, total],
        [q.shape, cacheShape, cacheShape],
        { domain: 'com.microsoft', attributes: { num_heads: heads, kv_num_heads: kvHeads } },
      ) as [Value, Value, Value]
      caches.push(named(key, presentKey(layer)), named(value, presentValue(layer)))
      return attended
    })
  }

  const last = g.op('Gather', [x, g.constant(BigInt64Array.of(-1n), [])], ['B', hiddenSize], {
    attributes: { axis: 1 },
  })
  const norm = rmsNorm(g, last, g.input('model.norm.weight', [hiddenSize]), config.normEpsilon)
  const logits = linear(g, norm, g.input('lm_head.weight', [vocabSize, hiddenSize]))
  const rows: Shape = ['B', vocabSize]
  const logprobs = g.op('LogSoftmax', [logits], rows, { attributes: { axis: -1 } })
  const tempered = g.op('Mul', [logits, g.input('inverseTemperature', ['B', 1])], rows)
  const probabilities = g.op('Softmax', [tempered], rows, { attributes: { axis: -1 } })
  const surprise = g.op('Mul', [g.op('Exp', [logprobs], rows), logprobs], rows)
  const axis = g.constant(BigInt64Array.of(-1n), [1])
  const entropy = g.op(
    'Neg',
    [g.op('ReduceSum', [surprise, axis], ['B', 1], { attributes: { keepdims: 1 } })],
    ['B', 1],
  )
  return new CompiledProgram(
    extract('decoding', [
      named(logprobs, 'logprobs'),
      named(probabilities, 'probabilities'),
      named(entropy, 'entropy'),
      ...caches,
    ]),
    threading,
  )
}

function named(value: Value, name: string): Value {
  ;(value as { name: string }).name = name
  return value
}
