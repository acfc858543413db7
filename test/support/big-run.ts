/** Run folders as PasoDoble would leave them, of any size and without playing: what the reading side must cope with. */
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { type RandomStream, randomStream } from '../../src/core/random.js'
import type { RolloutRecord } from '../../src/games/game.js'
import { folderName } from '../../src/runs/checkpoint.js'
import { hex } from '../../src/runs/journal.js'

const QUESTIONS = 16
const ANSWERS = 6
/** Questions that are put to the solver. */
const ASKED = 14
export const ROLLOUTS_A_ROUND = QUESTIONS + ASKED * ANSWERS

export interface BigRunOptions {
  rounds: number
  /** Rounds between measurements of the held-out problems. */
  every?: number
  /** Round in which an alarm begins. */
  alarm?: number
  seed?: number
}

/** Writes a finished run. A file of rollouts is written before the line of metrics that makes it count. */
export class BigRun {
  readonly folder: string
  readonly #options: Required<BigRunOptions>
  #crc = 0
  #journal: number
  #metrics: number

  constructor(folder: string, options: BigRunOptions) {
    const { rounds, every = 20, alarm = Math.ceil(rounds / 2), seed = 0 } = options
    this.folder = folder
    this.#options = { rounds, every, alarm, seed }
    mkdirSync(join(folder, 'checkpoints'), { recursive: true })
    writeFileSync(join(folder, 'config.json'), JSON.stringify(config(rounds, seed), null, 2))
    this.#journal = openSync(join(folder, 'journal.jsonl'), 'a')
    this.#metrics = openSync(join(folder, 'metrics.jsonl'), 'a')
  }

  /** Writes a whole run at once. */
  static write(folder: string, options: BigRunOptions): void {
    const run = new BigRun(folder, options)
    for (let round = 0; round <= options.rounds; round++) run.play(round)
    run.end()
  }

  play(round: number): void {
    const stream = randomStream(this.#options.seed, 'big', round)
    const progress = round / this.#options.rounds
    const { every, alarm } = this.#options
    if (round > 0) this.#writeRollouts(round, stream, progress)
    const anchor = round % every === 0 ? anchors(progress) : {}
    const line = { step: round, ...(round > 0 && metrics(stream, progress)), ...anchor }
    writeSync(this.#metrics, `${JSON.stringify(line)}\n`)
    this.#record({ kind: 'round', round, versions: { proposer: round, solver: 9 * round }, state: 'none' })
    const accuracy = anchor['heldout/accuracy']
    if (accuracy !== undefined)
      this.#record({ kind: 'eval', round, name: 'heldout sampled', n: 512, accuracy })
    if (round === alarm)
      this.#record({ kind: 'alarm', round, name: 'valid_questions_low', value: 0.09, threshold: 0.1 })
  }

  end(): void {
    this.#record({ kind: 'checkpoint', round: this.#options.rounds, files: {} })
    closeSync(this.#journal)
    closeSync(this.#metrics)
  }

  #writeRollouts(round: number, stream: RandomStream, progress: number): void {
    const folder = join(this.folder, 'rollouts', `round-${folderName(round)}`)
    mkdirSync(folder, { recursive: true })
    const { proposer, solver } = rollouts(round, stream, progress)
    for (const [role, records] of Object.entries({ proposer, solver })) {
      writeFileSync(
        join(folder, `${role}.jsonl`),
        records.map((each) => `${JSON.stringify(each)}\n`).join(''),
      )
    }
  }

  #record(record: object): void {
    const body = JSON.stringify(record)
    this.#crc = crc32(body, this.#crc)
    writeSync(this.#journal, `${body.slice(0, -1)},"crc":"${hex(this.#crc)}"}\n`)
  }
}

function config(rounds: number, seed: number) {
  const role = { model: 'models/tiny', optim: { learning_rate: 1e-4 } }
  return {
    game: 'pasodoble',
    seed,
    rounds,
    roles: { proposer: role, solver: role },
    settings: {
      schedule: 'online',
      knowledge: { path: 'knowledge.jsonl' },
      questions: QUESTIONS / 2,
      answers: ANSWERS,
      tau_low: 0.2,
      tau_high: 1,
      proposer: { user: 'External knowledge: {knowledge}\n\nWrite a problem.' },
    },
  }
}

function anchors(progress: number): Record<string, number> {
  const accuracy = 0.6 + 0.25 * progress
  return {
    'heldout/accuracy': accuracy,
    'heldout/accuracy_low': accuracy - 0.04,
    'heldout/accuracy_high': accuracy + 0.04,
  }
}

/** About as many numbers as PasoDoble writes. */
const names = ['proposer', 'solver'].flatMap((role) =>
  [
    ...['mean', 'std', 'p10', 'p90', 'difficulty', 'diversity'].map((name) => `reward/${name}`),
    ...['all_good', 'all_bad', 'mixed', 'zero_std_frac'].map((name) => `group/${name}`),
    ...['mean', 'p50', 'p95', 'truncated_frac', 'terminated_mean', 'repetition'].map((name) => `len/${name}`),
    ...['entropy', 'zero_entropy_frac', 'entropy_nonzero', 'kl_reference'].map((name) => `policy/${name}`),
    ...['steps', 'tokens', 'grad_norm', 'update_norm', 'lr'].map((name) => `optim/${name}`),
    ...['loss', 'ratio/mean', 'ratio/max', 'clip/low_frac', 'clip/high_frac'],
  ].map((name) => `${role}/${name}`),
)

function metrics(stream: RandomStream, progress: number): Record<string, number> {
  const rates = Array.from({ length: ANSWERS + 1 }, (_, k) => [`pass_rate/p${k}`, stream.int(QUESTIONS / 4)])
  const fates = ['valid', 'too_easy', 'too_hard', 'unparsable', 'leaks_answer', 'too_long']
  return {
    ...Object.fromEntries(names.map((name) => [name, stream.uniform() + progress])),
    ...Object.fromEntries(fates.map((fate) => [`questions/${fate}_frac`, stream.uniform() / 6])),
    'diversity/mean': 0.9 + 0.1 * stream.uniform(),
    'labels/accuracy': 0.5 + 0.3 * progress,
    'labels/accuracy_valid': 0.55 + 0.3 * progress,
    ...Object.fromEntries(rates),
    'time/round_s': 1 + stream.uniform(),
    'time/tokens_per_s': 5000 + 1000 * stream.uniform(),
  }
}

function rollouts(round: number, stream: RandomStream, progress: number) {
  const proposer: RolloutRecord[] = []
  const solver: RolloutRecord[] = []
  for (let id = 0; id < QUESTIONS; id++) {
    const [a, b] = [stream.int(100), stream.int(100)]
    const question = `${a}+${b}+${round}`
    const answer = String(a + b + round)
    const solved = Array.from({ length: ANSWERS }, () => stream.uniform() < 0.3 + 0.5 * progress)
    const rate = id < ASKED ? solved.filter(Boolean).length / ANSWERS : 0
    const fate = id >= ASKED ? 'unparsable' : rate >= 1 ? 'too_easy' : rate > 0.2 ? 'valid' : 'too_hard'
    proposer.push({
      role: 'proposer',
      group: Math.floor((2 * id) / QUESTIONS),
      index: id % (QUESTIONS / 2),
      prompt: `<|im_start|>user\nExternal knowledge: sums, three terms\n\nWrite a problem.<|im_end|>\n<|im_start|>assistant\n`,
      ...completion(`<problem>${question}</problem>\n<answer>${work(a, b, round)}</answer>`, stream),
      reward: fate === 'valid' ? 1.1 - rate : 0,
      parts: {
        question_id: id,
        question,
        answer,
        fate,
        flaw: null,
        pass_rate: rate,
        duplicates: 0,
        diversity: 1,
      },
      advantage: stream.uniform() - 0.5,
      trained: true,
    })
    for (let index = 0; index < (id < ASKED ? ANSWERS : 0); index++) {
      const isRight = solved[index]!
      solver.push({
        role: 'solver',
        group: id,
        index,
        prompt: `<|im_start|>user\n${question}<|im_end|>\n<|im_start|>assistant\n`,
        ...completion(work(a, b, isRight ? round : round + 1), stream),
        reward: Number(isRight),
        parts: { question_id: id, question, gold: answer, verdict: isRight ? 'equal' : 'different' },
        advantage: Number(isRight) - rate,
        trained: fate === 'valid',
      })
    }
  }
  return { proposer, solver }
}

function work(a: number, b: number, c: number): string {
  const steps = `${a}+${b}+${c}=${a + b}+${c}=${a + b + c}`
  return `First the terms are read from the left to the right, and every sum is written down: ${steps} \\boxed{${a + b + c}}`
}

/** Log-probabilities to take from: drawing each anew would take most of the time. */
const pool = Array.from({ length: 4096 }, (_, i) => -((i * 7919) % 1000) / 1000)

function completion(text: string, stream: RandomStream) {
  const from = stream.int(pool.length / 2)
  const logprobs = pool.slice(from, from + text.length)
  return {
    text,
    tokens: text.length + 1,
    stop: 'eos',
    logprob: -0.5,
    token_lengths: [...logprobs.map(() => 1), 0],
    token_logprobs: [...logprobs, -0.001],
  }
}
