/**
 * The programs that training runs: a layer forward, the same layer backward, and the loss head both ways. Cutting the
 * model at layer borders lets one compiled layer serve all layers, and makes what is kept between forward and backward
 * a matter of choice: everything the backward pass reads, or (recompute) only the layer's input.
 */
import type { LoraSpec } from '../../engine.js'
import type { ModelConfig } from '../../hf/config.js'
import { extract, Graph, gradients, keptValues, type Value } from '../graph/graph.js'
import { attention, moveRows, reshape, rmsNorm, targetLogprobs } from '../graph/ops.js'
import { CompiledProgram } from '../graph/program.js'
import { decoderLayer, LayerWeights, rotaryInputs } from './layer.js'

/** Forward and backward of one part of the model, with the values kept between them. */
export interface Differentiated {
  forward: CompiledProgram
  backward: CompiledProgram
  /** Forward that keeps nothing. */
  inference: CompiledProgram
  kept: Value[]
  output: Value
  /** Names of the weights with a gradient; the gradient of `w` is written to `grad:w`, added to `sum:w`. */
  trained: string[]
}

/** Name under which a program reads the gradient summed so far, and writes the new sum. */
export const gradientIn = (weight: string) => `sum:${weight}`
export const gradientOut = (weight: string) => `grad:${weight}`

function differentiate(
  name: string,
  g: Graph,
  output: Value,
  x: Value,
  weights: readonly Value[],
  recompute: boolean,
): Differentiated {
  const dy = g.input('dy', output.shape)
  const [dx, ...dw] = gradients(g, new Map([[output, dy]]), [x, ...weights]) as [Value, ...Value[]]
  const sums = weights.map((w, i) =>
    rename(g.op('Add', [g.input(gradientIn(w.name), w.shape), dw[i]], w.shape), gradientOut(w.name)),
  )
  const outputs = [rename(dx, 'dx'), ...sums]
  const forward = extract(`${name} forward`, [rename(output, 'y')])
  const kept = recompute ? [] : keptValues(forward, outputs).filter((value) => value !== output)
  return {
    forward: new CompiledProgram({ ...forward, outputs: [...forward.outputs, ...kept] }),
    inference: new CompiledProgram({ ...forward, name: `${name} inference` }),
    backward: new CompiledProgram(
      extract(`${name} backward`, outputs, new Set(recompute ? [] : [...kept, output])),
    ),
    kept,
    output,
    trained: weights.map((w) => w.name),
  }
}

function rename(value: Value, name: string): Value {
  ;(value as { name: string }).name = name
  return value
}

/** Whether an adapter or a full-weight run trains this weight of a layer. */
const isTrained = (path: string, lora: LoraSpec | undefined) => lora === undefined || path.includes('.lora_')

/**
 * A decoder layer over N packed tokens of B sequences. Linear layers see [N, D]: padding is never multiplied. Attention
 * works on [B, Hkv, G S, dh] (G query heads share a key head), into which rows are moved and back out again.
 */
export function trainingLayer(
  config: ModelConfig,
  lora: LoraSpec | undefined,
  recompute: boolean,
): Differentiated {
  const { heads, kvHeads, headDim } = config
  const g = new Graph()
  const weights = new LayerWeights(g, config, lora)
  const x = g.input('x', ['N', config.hiddenSize])
  const tables = rotaryInputs(g, config, ['N', 1])
  const group = heads / kvHeads
  const [queryRows, keyRows] = [`N*${heads}`, `N*${kvHeads}`]
  const padQuery = g.input('padQuery', ['B', kvHeads, `S*${group}`], 'i32')
  const padKey = g.input('padKey', ['B', kvHeads, 'S'], 'i32')
  const packQuery = g.input('packQuery', [queryRows], 'i32')
  const packKey = g.input('packKey', [keyRows], 'i32')
  const real = g.input('real', ['B', kvHeads, `S*${group}`, 1])
  const mask = g.input('mask', [`S*${group}`, 'S'])

  const y = decoderLayer(g, x, weights, tables, (q, k, v) => {
    const rows = (value: Value, count: string) => reshape(g, value, [count, headDim])
    const out = attention(
      g,
      moveRows(g, rows(q, queryRows), padQuery, packQuery),
      moveRows(g, rows(k, keyRows), padKey, packKey),
      moveRows(g, rows(v, keyRows), padKey, packKey),
      mask,
      1 / Math.sqrt(headDim),
    )
    return reshape(g, moveRows(g, out, packQuery, padQuery, real), ['N', heads * headDim])
  })
  const trained = [...weights.inputs].filter(([path]) => isTrained(path, lora)).map(([, value]) => value)
  return differentiate('layer', g, y, x, trained, recompute)
}

/**
 * Final norm, vocabulary head and log-probabilities of M targets. Reads rows x [M, D]; `y` is the log-probability of each
 * target [M, 1]; given dy = dLoss/dlogprob the backward program gives dx and the gradients of norm and head.
 */
export function trainingHead(config: ModelConfig, lora: LoraSpec | undefined): Differentiated {
  const g = new Graph()
  const x = g.input('x', ['M', config.hiddenSize])
  const norm = g.input('model.norm.weight', [config.hiddenSize])
  const head = g.input('lm_head.weight', [config.vocabSize, config.hiddenSize])
  const target = g.input('target', ['M', 1], 'i64')
  const inverseTemperature = g.input('inverseTemperature', [])
  const h = rmsNorm(g, x, norm, config.normEpsilon)
  const { logprobs } = targetLogprobs(g, h, head, target, inverseTemperature)
  return differentiate('head', g, logprobs, x, lora ? [] : [norm, head], false)
}
