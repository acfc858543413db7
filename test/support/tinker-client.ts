/** What the tests of the client share: a server with made-up weights, and small data. */
import { onTestFinished, vi } from 'vitest'
import type { Datum } from '../../src/core/datum.js'
import type { Adam, ConnectOptions, Service } from '../../src/tinker/client.js'
import { connect } from '../../src/tinker/service.js'
import {
  type Dialect,
  startTinkerServer,
  type TinkerServer,
  type TinkerServerOptions,
} from '../tinker-server/index.js'

export const dialects: Dialect[] = ['hosted', 'skyrl', 'tuft', 'openrl']
export const adam: Adam = {
  learningRate: 1e-3,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0,
  clipNorm: 0,
}
export const key = 'tml-test'

export async function serve(
  options: Partial<TinkerServerOptions> & { dialect: Dialect },
): Promise<TinkerServer> {
  const server = await startTinkerServer({ models: { tiny: 'models/tiny' }, scripted: {}, ...options })
  onTestFinished(() => server.close())
  return server
}

/** Connects with the test's key and little patience, to a server that is known: see `connect` of one that is not. */
export async function connected(
  { url, profile }: { url: string; profile?: { dialect: Dialect } },
  { patience, ...options }: ConnectOptions = {},
): Promise<Service> {
  vi.stubEnv('TINKER_API_KEY', key)
  const service = await connect({
    baseUrl: url,
    ...(profile && { dialect: profile.dialect }),
    patience: { backoffMs: 5, giveUpMs: 2000, ...patience },
    ...options,
  })
  onTestFinished(() => service.close())
  return service
}

export const spec = { baseModel: 'tiny', rank: 4, seed: 1 }

/** A sequence of four positions of which the last two are trained. */
export function datum(offset = 0): Datum {
  return {
    tokens: Int32Array.of(10 + offset, 11, 12, 13),
    targets: Int32Array.of(11, 12, 13, 14),
    weights: Float32Array.of(0, 0, 1, 1),
    advantages: Float32Array.of(0, 0, 0.5, -1),
    logprobs: Float32Array.of(0, 0, -0.4, -0.2),
  }
}
