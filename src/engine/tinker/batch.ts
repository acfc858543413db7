import type { Datum } from '../../core/datum.js'
import type { Loss, LossReport } from '../engine.js'
import { checkBatch } from './report.js'

/** A training batch between its call and its sending. */
export class Batch {
  readonly report: Promise<LossReport>
  /** Why it cannot be sent. */
  readonly refused: { error: unknown } | undefined
  #resolve!: (report: LossReport | Promise<LossReport>) => void
  #reject!: (error: unknown) => void

  constructor(
    readonly data: Datum[],
    readonly loss: Loss,
    vocabSize: number,
  ) {
    this.report = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    try {
      checkBatch(data, loss, vocabSize)
    } catch (error) {
      this.refused = { error }
    }
  }

  settle(report: Promise<LossReport>): void {
    this.#resolve(report)
  }

  fail(error: unknown): void {
    this.#reject(error)
  }
}
