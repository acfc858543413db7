/** sparring metrics: a run's metrics and rollouts, in the forms that other tools read. */
import { join } from 'node:path'
import { ConfigError } from '../core/errors.js'
import { isFolder } from '../core/folders.js'
import { openSource } from '../report/export/source.js'
import { printable } from './failure.js'
import { claimFile, claimFolder } from './output.js'

export const forms = ['tensorboard', 'csv', 'parquet', 'cookbook'] as const
export type MetricsForm = (typeof forms)[number]

export interface MetricsFlags {
  to: string
  form?: MetricsForm
  rollouts?: boolean
  json?: boolean
}

export async function metrics(run: string, flags: MetricsFlags): Promise<void> {
  const { to, rollouts, json, form = formOf(to, rollouts) } = flags
  if (rollouts && form !== 'parquet') {
    throw new ConfigError(`Rollouts are not written as ${form}.`, {
      hint:
        form === 'cookbook'
          ? 'Leave --rollouts out: that form has them anyway.'
          : 'Say --form parquet; the metrics can be written as well, by a second command.',
    })
  }
  const source = await openSource(run)
  const inFolder = form === 'tensorboard' || form === 'cookbook'
  const path =
    inFolder || !(await isFolder(to)) ? to : join(to, `${rollouts ? 'rollouts' : 'metrics'}.${form}`)
  await (inFolder ? claimFolder : claimFile)(path, '--to')
  const rows = await writers[rollouts ? 'rollouts' : form](source, path)
  if (json) {
    process.stdout.write(`${JSON.stringify({ event: 'metrics', run, to: path, form, rows })}\n`)
    return
  }
  const what = rollouts ? 'rollouts' : `rows of ${source.metrics.names.length} metrics`
  process.stdout.write(`${printable(path)} (${form}, ${rows} ${what})\n`)
}

type Writer = (source: Awaited<ReturnType<typeof openSource>>, path: string) => Promise<number>

const writers: Record<MetricsForm | 'rollouts', Writer> = {
  tensorboard: async (...to) => (await import('../report/export/tensorboard.js')).writeTensorBoard(...to),
  csv: async (...to) => (await import('../report/export/csv.js')).writeCsv(...to),
  parquet: async (...to) => (await import('../report/export/parquet.js')).writeMetricsParquet(...to),
  rollouts: async (...to) => (await import('../report/export/parquet.js')).writeRolloutsParquet(...to),
  cookbook: async (...to) => (await import('../report/export/cookbook.js')).writeCookbook(...to),
}

/** By the name's ending; other names are folders of TensorBoard's. */
function formOf(to: string, rollouts = false): MetricsForm {
  if (rollouts || to.endsWith('.parquet')) return 'parquet'
  return to.endsWith('.csv') ? 'csv' : 'tensorboard'
}
