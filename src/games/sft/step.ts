/** One step of supervised fine-tuning: the mean cross-entropy over the batch's trained tokens. */
import type { Role } from '../game.js'
import { type Metrics, prefixed } from '../grpo/metrics.js'
import { type Example, exampleDatum, trainedTokens } from './examples.js'

/** Trains the role on the batch in one Adam step; loss, gradient and learning rate as the role's metrics. */
export async function fineTuneStep(
  { name, policy, adam }: Role,
  batch: readonly Example[],
): Promise<Metrics> {
  const tokens = batch.reduce((sum, example) => sum + trainedTokens(example), 0)
  const data = batch.map((example) => exampleDatum(example, 1 / tokens))
  const { loss } = await policy.forwardBackward(data, { name: 'cross_entropy' })
  const { gradNorm, updateNorm } = await policy.optimStep(adam)
  return prefixed(name, {
    loss,
    'optim/tokens': tokens,
    'optim/grad_norm': gradNorm,
    'optim/update_norm': updateNorm,
    'optim/lr': adam.learningRate,
  })
}
