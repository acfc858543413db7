/** The Tinker engine of a dry run: no server is asked, and policies can do what their tokenizers can. */
import { InvariantError } from '../../core/errors.js'
import type { Engine, FrozenPolicy, MemoryPlan, Policy, PolicySpec, Tokenizer } from '../engine.js'
import { openTokenizer } from './base.js'
import { capabilities, checkLora } from './index.js'
import { readSaved, tokenizerFolder } from './saved.js'

export class UnreachedEngine implements Engine {
  readonly capabilities = capabilities

  /** Throws ConfigError (no `lora`, a layer that is none) and DataError (no tokenizer here). */
  async open(spec: PolicySpec): Promise<Policy> {
    const saved = await readSaved(spec.model)
    if (!saved) checkLora(spec.lora)
    return new UnreachedPolicy(
      await openTokenizer(saved ? tokenizerFolder(saved, spec.model) : spec.model, spec),
    )
  }

  async planMemory(): Promise<MemoryPlan> {
    return { parts: [], totalBytes: 0, availableBytes: 0 }
  }

  peakMemory(): undefined {
    return undefined
  }

  async close(): Promise<void> {}
}

class UnreachedPolicy implements Policy {
  readonly version = 0

  constructor(readonly tokenizer: Tokenizer) {}

  async snapshot(): Promise<FrozenPolicy> {
    return this
  }

  async close(): Promise<void> {}

  sample = unreached
  logprobs = unreached
  forwardBackward = unreached
  optimStep = unreached
  save = unreached
  load = unreached
}

function unreached(): never {
  throw new InvariantError('A policy of a dry run was asked for something that its server would have to do.')
}
