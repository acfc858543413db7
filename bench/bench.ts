/**
 * Speed and memory of the local engine beside the machine's own limit, and speed of the grader, all from one run.
 *
 *   npm run bench -- [--json] [--threads N] [--small] [--seconds S]
 *
 * `--small` leaves out the model of half a billion weights, whose folder (2 GB) is made in runs/bench on the first run.
 */
import { fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { projectRoot } from '../src/core/paths.js'
import { randomStream } from '../src/core/random.js'
import { measureGrader } from './grader.js'
import type { CaseResult, CaseSpec } from './measure.js'
import { writeRandomModel } from './random-model.js'

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    threads: { type: 'string', default: String(availableParallelism()) },
    small: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '5' },
  },
})
const threads = Number(values.threads)
const trainSeconds = Number(values.seconds)

function measure(spec: CaseSpec): Promise<CaseResult> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(new URL('./measure.js', import.meta.url)))
    let result: CaseResult | undefined
    child.on('message', (message) => {
      result = message as CaseResult
    })
    child.on('exit', (code) => {
      if (result) resolve(result)
      else reject(new Error(`The case "${spec.name}" ended with status ${code}.`))
    })
    child.send(spec)
  })
}

/** Lengths as the starter model's own sequences have them: prompts and completions of 30 to 130 characters. */
function raggedLengths(count: number): number[] {
  const random = randomStream(0, 'bench', 'lengths')
  return Array.from({ length: count }, () => 30 + random.int(101))
}

async function cases(): Promise<CaseSpec[]> {
  const starter = join(projectRoot(), 'models', 'tiny')
  const small: CaseSpec = {
    name: 'starter model',
    model: starter,
    threads,
    lengths: raggedLengths(128),
    trainSeconds,
    sampling: { rows: 128, group: 8, prompt: 24, completion: 64 },
  }
  if (values.small) return [small]
  const model = join(projectRoot(), 'runs', 'bench', 'qwen2.5-0.5b-random')
  if (!existsSync(join(model, 'config.json'))) {
    process.stderr.write('writing a random model of half a billion weights\n')
    const shared = join(projectRoot(), '..', 'shared', 'models', 'qwen-tokenizers')
    const tokenizer = existsSync(shared) ? shared : starter
    await writeRandomModel(model, { dtype: 'F32', seed: 0, tokenizer })
  }
  const large = { model, threads, trainSeconds, lengths: Array.from({ length: 8 }, () => 128) }
  return [
    small,
    {
      ...large,
      name: '0.5B, LoRA',
      lora: true,
      sampling: { rows: 16, group: 1, prompt: 32, completion: 16 },
    },
    { ...large, name: '0.5B, all weights' },
  ]
}

const percent = (share: number) => `${(100 * share).toFixed(0)} %`
const results: CaseResult[] = []
for (const spec of await cases()) {
  process.stderr.write(`measuring ${spec.name}\n`)
  const result = await measure(spec)
  results.push(result)
  if (values.json) continue
  const { sampleTokensPerSecond: sampled, sampleFraction: share = 0 } = result
  console.log(`${spec.name}`)
  console.log(
    `  matrix product   ${result.matmulGflops.toFixed(0)} GFLOP/s (float32, 1024 x 1024, ${threads} threads)`,
  )
  console.log(
    `  training         ${result.trainTokensPerSecond.toFixed(0)} tokens/s, ${percent(result.trainFraction)} of that rate`,
  )
  if (sampled)
    console.log(`  sampling         ${sampled.toFixed(0)} tokens/s, ${percent(share)} of that rate`)
  console.log(`  peak memory      ${(result.peakMemoryBytes / 1e9).toFixed(2)} GB`)
}
process.stderr.write('measuring the grader\n')
const grader = await measureGrader()
if (values.json) {
  const machine = { cpu: cpus()[0]?.model ?? 'unknown', cores: availableParallelism(), node: process.version }
  console.log(JSON.stringify({ machine, threads, cases: results, grader }))
} else {
  console.log('grader')
  console.log(
    `  ${grader.gradingsPerSecond.toFixed(0)} cases/s on ${grader.processes} processes; half within ${grader.p50} ms, 99 % within ${grader.p99} ms`,
  )
}
