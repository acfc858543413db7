/**
 * Builds the starter model: `models/tiny/base`, pretrained on right worked arithmetic, and `models/tiny`, the same after
 * a short cold start on data in which every third example holds a wrong step. The cold start is noisy on purpose: like
 * that of the paper it lowers what the base model could do, and the game is to recover it.
 *
 *   npm run build && node dist/models/tiny/build.js [--cold-start-only]
 *
 * The same seed, thread count and processor family give the same weights. Takes about twenty minutes on two cores.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { projectRoot } from '../../src/core/paths.js'
import { type RandomStream, randomStream } from '../../src/core/random.js'
import type { ChatMessage } from '../../src/engine/engine.js'
import { readModelConfig } from '../../src/engine/hf/config.js'
import { modelParameters } from '../../src/engine/hf/parameters.js'
import { writeSafetensors } from '../../src/engine/hf/safetensors.js'
import { openLocalEngine } from '../../src/engine/local/index.js'
import { proposerExample, solverExample } from '../../src/worlds/arithmetic/examples.js'
import { buildTokenizer } from '../../src/worlds/arithmetic/tokenizer.js'
import { type Phase, publish, seed, trainPhase } from './training.js'

const batchSize = 128
const shape = { hidden: 128, layers: 4, heads: 4, kvHeads: 2, headDim: 32, intermediate: 512 }

interface Stage {
  name: string
  steps: number
  peakRate: number
  wrongStepRate: number
}

const base: Stage = { name: 'base', steps: 3000, peakRate: 3e-3, wrongStepRate: 0 }
const coldStart: Stage = { name: 'cold start', steps: 150, peakRate: 5e-4, wrongStepRate: 0.35 }

async function build(): Promise<void> {
  const out = join(projectRoot(), 'models', 'tiny')
  const work = join(projectRoot(), 'runs', 'starter-model')
  await rm(work, { recursive: true, force: true })
  const engine = await openLocalEngine({ threads: 2 })
  if (!process.argv.includes('--cold-start-only')) {
    await writeInitialModel(join(work, 'initial'))
    await trainPhase(engine, join(work, 'initial'), join(work, 'base'), phaseOf(base))
    await publish(join(work, 'base'), join(out, 'base'))
  }
  await trainPhase(engine, join(out, 'base'), join(work, 'coldstart'), phaseOf(coldStart))
  await publish(join(work, 'coldstart'), out)
  await engine.close()
}

/** A Qwen3 model with random weights: standard deviation 0.7 / sqrt(inputs), smaller where layers add to the residual. */
async function writeInitialModel(folder: string): Promise<void> {
  const tokenizer = buildTokenizer()
  const eos = tokenizer.vocab['<|im_end|>']
  await mkdir(folder, { recursive: true })
  const write = (name: string, json: unknown) =>
    writeFile(join(folder, name), `${JSON.stringify(json, null, 2)}\n`)
  await write('tokenizer.json', tokenizer.tokenizer)
  await write('tokenizer_config.json', tokenizer.config)
  await write('generation_config.json', { eos_token_id: eos, pad_token_id: tokenizer.vocab['<|pad|>'] })
  await write('config.json', {
    architectures: ['Qwen3ForCausalLM'],
    model_type: 'qwen3',
    vocab_size: tokenizer.vocabSize,
    hidden_size: shape.hidden,
    intermediate_size: shape.intermediate,
    num_hidden_layers: shape.layers,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.kvHeads,
    head_dim: shape.headDim,
    max_position_embeddings: 1024,
    rms_norm_eps: 1e-6,
    rope_theta: 10000,
    tie_word_embeddings: true,
    attention_bias: false,
    hidden_act: 'silu',
    eos_token_id: eos,
    pad_token_id: tokenizer.vocab['<|pad|>'],
    torch_dtype: 'float32',
  })
  const config = await readModelConfig(folder)
  const tensors = modelParameters(config).map(({ name, shape }) => {
    const data = new Float32Array(shape.reduce((a, b) => a * b, 1))
    if (name.includes('norm')) return { name, shape, data: data.fill(1) }
    const random = randomStream(seed, 'weights', name)
    const residual = /o_proj|down_proj/.test(name) ? 1 / Math.sqrt(2 * config.layers) : 1
    const deviation = name.includes('embed') ? 0.02 : (0.7 * residual) / Math.sqrt(shape[1]!)
    return { name, shape, data: data.map(() => random.normal() * deviation) }
  })
  await writeSafetensors(folder, tensors)
}

function phaseOf({ name, steps, peakRate, wrongStepRate }: Stage): Phase {
  const conversations = (step: number) => {
    const random = randomStream(seed, name, step)
    return Array.from({ length: batchSize }, () => conversation(random, wrongStepRate))
  }
  return { name, steps, peakRate, conversations }
}

/** A proposer's example is twice as long as a solver's and teaches as much arithmetic, so solvers speak more often. */
function conversation(random: RandomStream, wrongStepRate: number): ChatMessage[] {
  const example = random.uniform() < 0.3 ? proposerExample : solverExample
  return example(random, { detail: 'plain', wrongStepRate }).messages
}

await build()
