/** How the models of this folder are trained: fine-tuning on examples that are made as they are needed. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ChatMessage, Engine, Policy } from '../../src/engine/engine.js'
import { readModelConfig } from '../../src/engine/hf/config.js'
import { modelParameters } from '../../src/engine/hf/parameters.js'
import { openSafetensors, writeSafetensors } from '../../src/engine/hf/safetensors.js'
import { encodeConversation, exampleDatum, trainedTokens } from '../../src/games/sft/examples.js'
import { buildTokenizer } from '../../src/worlds/arithmetic/tokenizer.js'

/** Of the weights and of all examples. */
export const seed = 0

export interface Phase {
  name: string
  steps: number
  peakRate: number
  /** Conversations of a step. */
  conversations(step: number): ChatMessage[][]
  /** What the policy can do by now, in words; asked every 100 steps and at the end. */
  measure?(policy: Policy): Promise<string>
}

const adam = { beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weightDecay: 0.01, clipNorm: 1 }

/** Trains the model in `from` and saves it in `to`; the loss is the mean over what the assistant writes. */
export async function trainPhase(engine: Engine, from: string, to: string, phase: Phase): Promise<void> {
  const policy = await engine.open({ model: from, seed })
  const warmup = Math.min(100, phase.steps / 10)
  const started = performance.now()
  const batch = (step: number) => {
    const examples = phase
      .conversations(step)
      .flatMap((messages) => encodeConversation(policy.tokenizer, messages))
    const tokens = examples.reduce((sum, example) => sum + trainedTokens(example), 0)
    return examples.map((example) => exampleDatum(example, 1 / tokens))
  }
  let data = batch(0)
  for (let step = 0; step < phase.steps; step++) {
    const progress = (step - warmup) / (phase.steps - warmup)
    const rate = step < warmup ? (step + 1) / warmup : 0.025 + 0.4875 * (1 + Math.cos(Math.PI * progress))
    const trained = policy.forwardBackward(data, { name: 'cross_entropy' })
    const stepped = policy.optimStep({ ...adam, learningRate: phase.peakRate * rate })
    // The next batch is made while the engine works on this one.
    data = batch(step + 1)
    const { loss } = await trained
    await stepped
    const isLast = step + 1 === phase.steps
    if ((step + 1) % 100 === 0 || isLast) {
      const measured = phase.measure ? `, ${await phase.measure(policy)}` : ''
      const seconds = ((performance.now() - started) / 1000).toFixed(0)
      process.stderr.write(
        `${phase.name}: step ${step + 1}/${phase.steps}, loss ${loss.toFixed(4)}${measured}, ${seconds} s\n`,
      )
    }
  }
  await policy.save(to, { optimizer: false })
  await policy.close()
}

/** Copies a trained model into the repository with weights in bfloat16, which halves it. */
export async function publish(from: string, to: string): Promise<void> {
  const config = await readModelConfig(from)
  const file = await openSafetensors(from)
  const tensors = modelParameters(config).map(({ name, shape }) => ({
    name,
    shape,
    data: () => file.read(name),
  }))
  await mkdir(to, { recursive: true })
  await writeSafetensors(to, tensors, { dtype: 'BF16' })
  await file.close()
  for (const [name, content] of Object.entries({
    'config.json': { ...config.raw, torch_dtype: 'bfloat16' },
    'tokenizer.json': buildTokenizer().tokenizer,
    'tokenizer_config.json': buildTokenizer().config,
    'generation_config.json': { eos_token_id: config.eosIds, pad_token_id: config.raw.pad_token_id },
  }))
    await writeFile(join(to, name), `${JSON.stringify(content, null, 2)}\n`)
}
