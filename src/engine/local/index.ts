/** The local engine: transformers trained and sampled on this machine's processor. */
import { availableParallelism } from 'node:os'
import { ConfigError } from '../../core/errors.js'
import type { Engine, EngineCapabilities, MemoryPlan, PolicySpec } from '../engine.js'
import { readModelConfig } from '../hf/config.js'
import { loadTokenizer } from '../hf/tokenizer.js'
import { Client } from './client.js'
import type { HostOptions, OpenedPolicy } from './host.js'
import { LocalPolicy } from './policy.js'

export type { LocalPolicy } from './policy.js'

export interface LocalEngineOptions extends Partial<HostOptions> {
  /** Threads of the kernels; a fixed number makes runs repeatable. @default the processor's cores */
  threads?: number
}

const defaults: HostOptions = {
  tokenBudget: 2048,
  maxRows: 128,
  cacheBytes: 2 ** 30,
  activationBytes: 2 ** 30,
  logitsBudget: 2 ** 24,
}

/** More threads than a few a core only wait for each other, and starting very many takes minutes. */
const threadsPerCore = 8

/** Throws ConfigError where this machine has far fewer cores than `threads`. */
export async function openLocalEngine(options: LocalEngineOptions = {}): Promise<LocalEngine> {
  const { threads = availableParallelism(), ...rest } = options
  const most = threadsPerCore * availableParallelism()
  if (threads > most) {
    throw new ConfigError(`The engine cannot have ${threads} threads on ${availableParallelism()} cores.`, {
      hint: `Set engine.threads, or --threads, to at most ${most}.`,
    })
  }
  return new LocalEngine(new Client({ threads, options: { ...defaults, ...rest } }))
}

export class LocalEngine implements Engine {
  readonly capabilities: EngineCapabilities = {
    name: 'local',
    exactEntropy: true,
    deterministic: true,
    temperedLoss: true,
  }

  constructor(private readonly client: Client) {}

  async open(spec: PolicySpec): Promise<LocalPolicy> {
    const opened = await this.client.call<OpenedPolicy>('open', spec)
    const tokenizer = await loadTokenizer(opened.folder, await readModelConfig(opened.folder), spec)
    return new LocalPolicy(this.client, opened, tokenizer)
  }

  planMemory(load: {
    trainTokens: number
    longestSequence: number
    sampleRows: number
  }): Promise<MemoryPlan> {
    return this.client.call('plan', load)
  }

  peakMemory(): number {
    return process.resourceUsage().maxRSS * 1024
  }

  close(): Promise<void> {
    return this.client.close()
  }
}
