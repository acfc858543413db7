/** One step of supervised fine-tuning: the mean cross-entropy over the batch's trained tokens. */
import type { Role } from '../game.js'
import { type Metrics, prefixed, told } from '../grpo/metrics.js'
import { type Example, exampleDatum, trainedTokens } from './examples.js'

/** Trains the role on the batch in one Adam step; loss, gradient and learning rate as the role's metrics. */
export async function fineTuneStep(
  { name, policy, adam }: Role,
  batch: readonly Example[],
): Promise<Metrics> {
  const tokens = batch.reduce((sum, example) => sum + trainedTokens(example), 0)
  const data = batch.map((example) => exampleDatum(example, 1 / tokens))
  const [{ loss }, { gradNorm, updateNorm }] = await Promise.all([
    policy.forwardBackward(data, { name: 'cross_entropy' }),
    policy.optimStep(adam),
  ])
  return prefixed(name, {
    loss,
    'optim/tokens': tokens,
    ...told({ 'optim/grad_norm': gradNorm, 'optim/update_norm': updateNorm }),
    'optim/lr': adam.learningRate,
  })
}
