/**
 * Exports the parity checkpoints in every form, beside what the local engine gives them, for exported.py to judge:
 *
 *     node dist/test/parity/exported.js FOLDER && python test/parity/exported.py FOLDER
 */
import { realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Engine } from '../../src/engine/engine.js'
import { type ExportForm, exportWeights } from '../../src/engine/hf/export.js'
import { openLocalEngine } from '../../src/engine/local/index.js'
import { checkpoints, type Reference, reference } from './reference.js'

export const forms: ExportForm[] = ['folder', 'peft', 'merged']

/** The model of a reference, or its adapter, exported to `to`. */
export function exportReference(
  stored: Reference,
  form: ExportForm,
  to: string,
  dtype: 'F32' | 'BF16' = 'F32',
) {
  return exportWeights(form === 'folder' ? stored.model : stored.adapter, to, { form, dtype })
}

/** Log-probabilities of the reference's targets under the model or adapter in a folder. */
export async function scoresOf(
  engine: Engine,
  folder: string,
  { sequences }: Reference,
): Promise<Float32Array[]> {
  const policy = await engine.open({ model: folder, seed: 0 })
  try {
    return await policy.logprobs(sequences)
  } finally {
    await policy.close()
  }
}

async function main(target: string): Promise<void> {
  const engine = await openLocalEngine({ threads: 1 })
  for (const name of checkpoints) {
    const stored = reference(name)
    for (const form of forms) {
      for (const dtype of ['F32', 'BF16'] as const) {
        const folder = join(target, name, `${form}-${dtype.toLowerCase()}`)
        await exportReference(stored, form, folder, dtype)
        const logprobs = (await scoresOf(engine, folder, stored)).map((each) => [...each])
        const sequences = stored.sequences.map(({ tokens, targets }) => ({
          tokens: [...tokens],
          targets: [...targets],
        }))
        writeFileSync(`${folder}.json`, JSON.stringify({ sequences, logprobs }))
      }
    }
  }
  await engine.close()
}

if (process.argv[1] && realpathSync(process.argv[1]) === import.meta.filename) await main(process.argv[2]!)
