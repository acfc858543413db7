/**
 * The suite every engine must pass: what the contract in src/engine/engine.ts promises, checked from outside.
 * What an engine's `capabilities` do not claim is reported as skipped, never silently left out.
 */
import { afterAll, beforeAll, describe } from 'vitest'
import type { Engine, Policy, PolicySpec } from '../../src/engine/engine.js'
import { describeErrors } from './conformance/errors.js'
import { describeSampling } from './conformance/sampling.js'
import { describeState } from './conformance/state.js'
import { describeTraining } from './conformance/training.js'

export interface ConformanceOptions {
  spec: PolicySpec
  /** What `engine.capabilities` must say: the tests are laid out before an engine is open. */
  capabilities: Engine['capabilities']
  /** The vocabulary is so small that whole distributions can be asked for, one sequence a token. */
  smallVocabulary: boolean
  /** Largest error of a log-probability, nats. */
  tolerance: number
  /** What the server behind the engine cannot do, and the engine refuses. */
  lacks?: ('truncation' | 'uneven clip bounds' | 'weight decay of one policy')[]
}

/** What each part of the suite works on. */
export interface Subject extends ConformanceOptions {
  engine(): Engine
  /** A policy that is shared by tests which leave its weights alone. */
  policy(): Policy
  /** A policy of its own, closed after use. */
  withPolicy<T>(use: (policy: Policy) => Promise<T>, changes?: Partial<PolicySpec>): Promise<T>
}

export function describeEngine(name: string, open: () => Promise<Engine>, options: ConformanceOptions): void {
  describe(`${name} as an engine`, () => {
    let engine: Engine
    let shared: Policy
    beforeAll(async () => {
      engine = await open()
      shared = await engine.open(options.spec)
    })
    afterAll(async () => {
      await shared?.close()
      await engine?.close()
    })
    const subject: Subject = {
      ...options,
      engine: () => engine,
      policy: () => shared,
      async withPolicy(use, changes = {}) {
        const policy = await engine.open({ ...options.spec, ...changes })
        try {
          return await use(policy)
        } finally {
          await policy.close()
        }
      },
    }
    describeSampling(subject)
    describeTraining(subject)
    describeState(subject)
    describeErrors(subject)
  })
}
