/** The Tinker engine: adapters trained and sampled on servers of the Tinker protocol. */
import { ConfigError } from '../../core/errors.js'
import { nearest } from '../../core/nearest.js'
import type { ModelSpec } from '../../tinker/client.js'
import type { Profile } from '../../tinker/profile.js'
import type { Engine, EngineCapabilities, LoraSpec, MemoryPlan, PolicySpec } from '../engine.js'
import { loraTargets } from '../hf/lora.js'
import { chooseBaseModel, openTokenizer } from './base.js'
import { TinkerPolicy } from './policy.js'
import { readSaved, tokenizerFolder } from './saved.js'
import { Servers, type TinkerEngineOptions } from './servers.js'

export type { TinkerPolicy } from './policy.js'
export type { TinkerEngineOptions } from './servers.js'

export const capabilities: EngineCapabilities = {
  name: 'tinker',
  exactEntropy: false,
  deterministic: false,
  temperedLoss: false,
  remote: true,
}

/** Servers are reached when the first policy is opened. */
export function openTinkerEngine(options: TinkerEngineOptions = {}): TinkerEngine {
  return new TinkerEngine(options)
}

export class TinkerEngine implements Engine {
  readonly capabilities = capabilities
  readonly #servers: Servers
  readonly #warned = new Set<string>()

  constructor(private readonly options: TinkerEngineOptions) {
    this.#servers = new Servers(options)
  }

  /**
   * Throws ConfigError (no `lora`, a model that the server lacks), DataError (no tokenizer here), and what the client
   * throws: Auth, Transport, UserError.
   */
  async open(spec: PolicySpec): Promise<TinkerPolicy> {
    const saved = await readSaved(spec.model)
    const lora = saved ? undefined : checkLora(spec.lora)
    const folder = saved ? tokenizerFolder(saved, spec.model) : spec.model
    const tokenizer = await openTokenizer(folder, spec)
    const server = await this.#servers.at(spec.remote, saved && spec.model)
    const { service } = server
    if (saved && saved.url !== service.url)
      this.#warn(`${spec.model} was saved on ${saved.url}, and is asked for from ${service.url}.`)
    if (lora) for (const sentence of differences(service.url, service.profile, lora)) this.#warn(sentence)
    const served = service.models.flatMap(({ model_name }) => model_name ?? [])
    const adapter: ModelSpec = {
      baseModel: saved?.base_model ?? chooseBaseModel(spec, served, service.url),
      seed: spec.seed,
      trainUnembedding: false,
      ...(lora
        ? {
            rank: lora.rank,
            trainAttention: lora.targets.some((target) => /^[qkvo]_/.test(target)),
            trainMlp: lora.targets.some((target) => /^(gate|up|down)_/.test(target)),
          }
        : { rank: saved!.rank, trainAttention: saved!.attention, trainMlp: saved!.mlp }),
    }
    const name = spec.remote?.name
    const source = saved?.tokenizer ?? { folder, ...(name !== undefined && { name }) }
    const warn = (sentence: string) => this.#warn(sentence)
    return TinkerPolicy.open({ server, spec: adapter, tokenizer, source, warn }, saved)
  }

  /** Nothing is computed here. */
  async planMemory(): Promise<MemoryPlan> {
    return { parts: [], totalBytes: 0, availableBytes: 0 }
  }

  peakMemory(): undefined {
    return undefined
  }

  close(): Promise<void> {
    return this.#servers.close()
  }

  #warn(sentence: string): void {
    if (this.#warned.has(sentence)) return
    this.#warned.add(sentence)
    this.options.onWarning?.(sentence)
  }
}

export function checkLora(lora: LoraSpec | undefined): LoraSpec {
  if (!lora)
    throw new ConfigError('The Tinker engine trains adapters only, and a role has no lora.', {
      hint: 'Add it to the role, as in lora: {rank: 16}.',
    })
  const unknown = lora.targets.find((target) => !loraTargets.includes(target))
  if (unknown !== undefined) {
    const meant = nearest(unknown, loraTargets)
    throw new ConfigError(`The LoRA target "${unknown}" is not a linear layer of the model.`, {
      hint: meant ? `Did you mean ${meant}?` : `Choose from ${loraTargets.join(', ')}.`,
    })
  }
  if (lora.targets.length === 0 || !(lora.rank >= 1))
    throw new ConfigError('A LoRA adapter needs a rank of at least 1 and at least one target layer.')
  return lora
}

/** What the server makes of an adapter otherwise than it was described. */
function differences(url: string, { alpha }: Profile, lora: LoraSpec): string[] {
  const served = alpha(lora.rank)
  const groups = [/^[qkvo]_/, /^(gate|up|down)_/]
  const partial = groups.some((group) => {
    const all = loraTargets.filter((target) => group.test(target))
    const named = all.filter((target) => lora.targets.includes(target))
    return named.length > 0 && named.length < all.length
  })
  return [
    ...(served === lora.alpha
      ? []
      : [
          `${url} scales adapters of rank ${lora.rank} by alpha ${served}, not by ${lora.alpha} as lora.alpha says.`,
        ]),
    ...(partial
      ? [`${url} adapts the layers of attention or of the MLP all together, more than lora.targets names.`]
      : []),
  ]
}
