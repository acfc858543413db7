/** What is done with a model: created, trained, saved, loaded. Each returns what its promise resolves to. */
import { randomInt } from 'node:crypto'
import { loraTargets } from '../../src/engine/hf/lora.js'
import type { ForwardBackwardOutput, Tensor } from '../../src/tinker/wire.js'
import type { Checkpoint } from './checkpoints.js'
import { OperationError, operationError, Refusal } from './errors.js'
import type { Future } from './futures.js'
import { type Batch, checkData, datumLoss } from './losses.js'
import type { Body } from './requests.js'
import type { Adapter, Weights } from './weights.js'
import type { Model, World } from './world.js'

type LoraConfig = NonNullable<Body<'create_model'>['lora_config']>

/** Adapter of a request, as this server makes it. */
function adapterOf(world: World, lora: LoraConfig): Adapter {
  const { alpha, honoursTargets } = world.around.profile
  const isMlp = (target: string) => /gate|up|down/.test(target)
  const targets = loraTargets.filter(
    (target) => !honoursTargets || (isMlp(target) ? lora.train_mlp : lora.train_attn),
  )
  return { rank: lora.rank, alpha: alpha(lora.rank), targets }
}

/** Registers a model and promises its weights. Throws a Refusal where the request itself is wrong. */
export function createModel(world: World, body: Body<'create_model'>): { model: Model; future: Future } {
  const { around } = world
  const { dialect } = around.profile
  if (dialect !== 'openrl') world.session(body.session_id)
  if (dialect === 'tuft' && !body.lora_config) throw new Refusal(400, 'Missing LoRA config')
  const lora = body.lora_config ?? { rank: 32, train_unembed: true, train_mlp: true, train_attn: true }
  const adapter = adapterOf(world, lora)
  // SkyRL finds out when it carries the request out; the others look at once.
  const wrong = () => {
    if (!(body.base_model in around.models))
      return new Refusal(
        dialect === 'tuft' ? 404 : 400,
        `Unknown model '${body.base_model}'; this server has ${Object.keys(around.models)}`,
      )
    if (adapter.rank < 1 || adapter.rank > around.maxRank)
      return new Refusal(400, `LoRA rank ${adapter.rank} is outside 1 to ${around.maxRank}`)
    if (adapter.targets.length === 0) return new Refusal(400, 'LoRA config leaves no layer to train')
    if (world.usedSlots > around.slots)
      return new Refusal(429, `All ${around.slots} adapter slots are in use; unload a model`)
    return undefined
  }
  const id = world.newId('model', { session: body.session_id, number: body.model_seq_id ?? 0 })
  const future = world.futures.create('create_model', id)
  const model: Model = {
    id,
    session: body.session_id,
    base: body.base_model,
    adapter,
    trains: {
      train_unembed: lora.train_unembed,
      train_mlp: lora.train_mlp,
      train_attn: lora.train_attn,
    },
    createdAt: new Date().toISOString(),
    status: 'created',
    weights: undefined,
    creation: Promise.resolve(),
    line: world.newLine(),
    taken: 0,
    gradient: [],
    steps: 0,
    slotHolds: undefined,
  }
  world.models.set(id, model)
  const refused = dialect === 'skyrl' ? undefined : wrong()
  if (refused) {
    world.models.delete(id)
    throw refused
  }
  model.creation = world.work(async () => {
    const late = wrong()
    try {
      if (late) throw new OperationError(late.message)
      model.weights = await around.backend.create(model.base, adapter, lora.seed ?? randomInt(2 ** 31))
      model.status = 'loaded'
      world.futures.settle(future, { value: { model_id: id, type: 'create_model' } })
    } catch (error) {
      world.models.delete(id)
      world.futures.settle(future, { error: operationError(error) })
    }
  })
  return { model, future }
}

export async function weightsOf(model: Model): Promise<Weights> {
  await model.creation
  if (!model.weights) throw new OperationError(`Model ${model.id} is not loaded`, 'user', 404)
  return model.weights
}

/** Log-probabilities and losses of a batch; unless `forwardOnly`, its gradient is kept for the next step. */
export async function forwardBackward(
  world: World,
  model: Model,
  batch: Batch,
  forwardOnly: boolean,
): Promise<ForwardBackwardOutput> {
  const { losses, dialect, nothing } = world.around.profile
  const weights = await weightsOf(model)
  if (batch.data.length === 0 && nothing === 'refused') throw new OperationError('The batch holds no data.')
  checkData(losses, batch)
  if ((batch.config.temperature ?? 1) !== 1)
    throw new OperationError('A loss temperature other than 1 is not supported by this backend.')
  const scored = batch.data.map(({ tokens, inputs }) => ({
    tokens,
    targets: inputs.target_tokens!.data as Int32Array,
  }))
  const logprobs = await weights.logprobs(scored)
  const found = batch.data.map((datum, i) => datumLoss(losses, batch, datum, logprobs[i]!))
  if (!forwardOnly) model.gradient.push(...found.map(({ slopes }, i) => ({ ...scored[i]!, slopes })))
  const sum = found.reduce((total, { loss }) => total + loss, 0)
  const tensor = (data: Float32Array): Tensor => ({ dtype: 'float32', data, shape: [data.length] })
  const metrics: Record<string, Record<string, number>> = {
    skyrl: {},
    openrl: { 'loss:mean': sum / found.length, 'loss:sum': sum },
  }
  return {
    type: dialect === 'skyrl' ? 'scalar' : 'ArrayRecord',
    outputs: found.map(({ elementwise }, i) => ({
      logprobs: tensor(logprobs[i]!),
      ...(dialect === 'skyrl' && { elementwise_loss: tensor(elementwise) }),
    })),
    metrics: metrics[dialect] ?? { 'loss:sum': sum },
  }
}

export async function optimStep(
  world: World,
  model: Model,
  { adam_params: given, seq_id }: Body<'optim_step'>,
  request: string,
): Promise<unknown> {
  const { losses, dialect, decaysAll } = world.around.profile
  const weights = await weightsOf(model)
  const { gradient } = model
  model.gradient = []
  const scale = losses.reduction === 'sequence' ? 1 / gradient.length : 1
  const { gradNorm } = await weights.step(
    gradient.map(({ slopes, ...rest }) => ({ ...rest, slopes: slopes.map((slope) => slope * scale) })),
    {
      learningRate: given.learning_rate,
      beta1: given.beta1,
      beta2: given.beta2,
      epsilon: given.eps,
      weightDecay: given.weight_decay,
      clipNorm: dialect === 'skyrl' ? 0 : given.grad_clip_norm,
    },
  )
  if (decaysAll && given.weight_decay > 0)
    for (const other of world.models.values())
      if (other !== model) await other.weights?.decay(1 - given.learning_rate * given.weight_decay)
  model.steps++
  world.around.applied.push({
    model: model.id,
    seq: seq_id ?? undefined,
    request,
    learningRate: given.learning_rate,
  })
  if (dialect === 'skyrl')
    return { metrics: { 'skyrl.ai/grad_norm': gradNorm, 'skyrl.ai/learning_rate': given.learning_rate } }
  return { metrics: dialect === 'openrl' ? { 'grad_norm:mean': gradNorm } : null }
}

/** Writes weights, with the optimizer's state where they are to be trained further. */
export async function save(
  world: World,
  model: Model,
  checkpoint: Checkpoint,
  overwrite: boolean,
): Promise<void> {
  const { checkpoints, profile } = world.around
  const { run, kind, name, folder } = checkpoint
  const taken = profile.names.unique === 'unless overwrite' && checkpoints.has(run, kind, name)
  if (taken && !overwrite) throw new OperationError(`The checkpoint '${name}' exists already.`, 'user', 409)
  try {
    await (await weightsOf(model)).save(folder, kind === 'weights')
  } catch (error) {
    checkpoints.drop(checkpoint)
    throw error
  }
  checkpoints.written(checkpoint)
}

/** Takes saved weights, and the optimizer's state where it is asked for. */
export async function load(
  world: World,
  model: Model,
  checkpoint: Checkpoint,
  optimizer: boolean,
): Promise<void> {
  const weights = await weightsOf(model)
  const { adapter } = checkpoint
  const same = (a: Adapter) => JSON.stringify([a.rank, a.alpha, a.targets])
  if (checkpoint.base !== model.base || same(adapter) !== same(model.adapter))
    throw new OperationError(
      `${checkpoint.path} is an adapter of rank ${adapter.rank} on ${checkpoint.base}, the model's is of rank ` +
        `${model.adapter.rank} on ${model.base}.`,
    )
  await weights.load(checkpoint.folder, optimizer || world.around.profile.alwaysLoadsOptimizer)
  model.gradient = []
}
