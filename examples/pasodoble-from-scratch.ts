/**
 * PasoDoble from scratch: two language models teach each other to reason, without a single labelled problem.
 *
 *   npm run build && node dist/examples/pasodoble-from-scratch.js
 *
 * A proposer reads a knowledge text and sets questions, each with an answer of its own; a solver tries them. The solver
 * is paid for agreeing with the proposer, the proposer for questions that the solver gets right sometimes but not always.
 * Both take their gradient steps in every round, so that the questions grow with the solver.
 * After Zhang, Huang, Li and Cardie, "Better LLM Reasoning via Dual-Play", arXiv 2511.11881, in its online form.
 *
 * All that decides what is learned stands here, to be read from top to bottom: settings, prompts, rewards, advantages,
 * loss, a round, the loop. From elsewhere come an engine that samples completions and takes gradients, a little world of
 * arithmetic, and the comparison of two answers. `sparring train pasodoble-tiny` is the same game with run files,
 * checkpoints, metrics and ablations around it, and comes to the same numbers: the test beside this file sees to it.
 */
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { type Datum, joinSequence } from '../src/core/datum.js'
import { projectRoot } from '../src/core/paths.js'
import { randomStream } from '../src/core/random.js'
import type { Rollout } from '../src/core/rollout.js'
import { collect, type Policy, type SampleRequest } from '../src/engine/engine.js'
import { openLocalEngine } from '../src/engine/local/index.js'
import { isEquivalent, lastBoxed } from '../src/grader/index.js'
import { heldoutProblems, knowledgeTexts, solveQuestion } from '../src/worlds/arithmetic/index.js'

/** For a model of a million weights; in brackets what the paper takes for 0.5 to 4 billion, where that differs. */
export const defaults = {
  model: join(projectRoot(), 'models', 'tiny'), // both players start from it
  out: join('runs', 'pasodoble-from-scratch'), // and end here
  seed: 0,
  rounds: 80, // [2000]
  texts: 8, // knowledge texts a round [1]
  questions: 6, // I, questions a text: the group of the proposer
  answers: 6, // J, answers a question: the group of the solver

  tauLow: 0.2, // a question solved no more often than this is too hard, or its label is wrong
  tauHigh: 1, // one that is always solved leaves the solver nothing to learn
  w: 0.2, // weight of diversity in the proposer's reward
  tauDiv: 0.3, // a question less diverse than this earns nothing
  tauSim: 0.8, // two questions more alike than this are the same
  historySize: 100, // |H|, questions that new ones are held against

  temperature: 1, // [0.6]
  proposer: { maxTokens: 160, learningRate: 1e-4 }, // [6144, 1e-6]
  solver: { maxTokens: 128, learningRate: 2e-5 }, // [6144, 1e-6]; it takes many steps to the proposer's one
  solverPrompt: 128, // longer questions are not asked; tokens, with the chat's own [512]
  clip: 0.2, // epsilon
  heldout: 512, // problems that measure the solver before and after
}

export type Settings = typeof defaults

/** A player, with weights and an optimizer of its own. */
interface Role {
  name: 'proposer' | 'solver'
  policy: Policy
  /** Longest completion, and L_max of the loss. */
  maxTokens: number
  learningRate: number
}

/** Completions of one prompt. Their rewards are compared with each other, and with nothing else. */
interface Group {
  prompt: Int32Array
  rollouts: Rollout[]
  rewards: number[]
}

/** A question q_i is the prompt of a group of the solver: its answers a_ij, each with the reward r^s_ij. */
interface Question extends Group {
  /** The proposer's completion, and what was read from it: q_i and its own answer a*_i, empty where there is none. */
  proposal: Rollout
  question: string
  label: string
  /** p_i, the share of the answers that agree with the label. */
  passRate: number
  /** r^p_i, what it earned the proposer. */
  reward: number
  /** tau_low < p_i < tau_high: the solver learns from it. */
  valid: boolean
}

/**
 * The paper tells each player at length what to write. The starter model is too small to follow instructions and was
 * shown the form of both parts instead, so its prompts are bare: the proposer reads a knowledge text, such as
 * "products: two terms, one digit", and the solver a question, such as "7*8".
 */
function encodePrompt({ policy }: Role, text: string): Int32Array {
  return policy.tokenizer.encodeChat([{ role: 'user', content: text }])
}

/** After its thoughts, a proposal holds `<problem>q</problem>` and a worked solution that ends in `\boxed{a*}`. */
function parse(proposal: string): { question: string; label: string } {
  const thought = proposal.split('</think>').at(-1)!
  const question = /<problem>(.*?)<\/problem>/s.exec(thought)?.[1]?.trim() ?? ''
  return { question, label: boxed(proposal) }
}

const boxed = (text: string) => lastBoxed(text)?.trim() ?? ''

/**
 * The solver's reward: r^s_ij = 1 if a_ij is equivalent to a*_i, else 0.
 *
 * Nobody looks up the true answer. That is the charm of the method and its danger: while errors are scattered, to agree
 * is to be right; once both players make the same errors, they are paid for them.
 */
function solverReward(answer: string, label: string): number {
  return isEquivalent(label, boxed(answer)) ? 1 : 0
}

/** Whether a question gives its answer away; its pass rate is then set to 0 (a check of the released code). */
function cheats(question: string, label: string): boolean {
  // Short answers may stand in the question: there is a "2" in nearly all of them.
  const leaks = label.length >= 3 && question.includes(label)
  return leaks || question.includes('\\boxed{') || label.includes(question)
}

/**
 * How new a question is: the share of the history H that it does not repeat, by sets of tokens T.
 *
 *     J(q, h) = |T(q) ∩ T(h)| / |T(q) ∪ T(h)|
 *     r_div = (|H| - #{h in H : J(q, h) > tau_sim}) / |H|,   1 if H is empty
 */
function diversity(question: Set<number>, history: Set<number>[], { tauSim }: Settings): number {
  if (history.length === 0) return 1
  const repeated = history.filter((past) => {
    const shared = [...question].filter((token) => past.has(token)).length
    return shared / (question.size + past.size - shared) > tauSim
  })
  return (history.length - repeated.length) / history.length
}

/**
 * The proposer's reward:
 *
 *     r^p = r_diff + w r_div   if p > tau_low and r_div >= tau_div,   else 0,          r_diff = 1.1 - p
 *
 * The harder, the better; but a question that is never solved most likely has a wrong label, so at tau_low the reward
 * falls from its highest to nothing. One that is always solved earns a little: it is sound, and broken ones earn nothing.
 */
function proposerReward(p: number, rDiv: number, { tauLow, tauDiv, w }: Settings): number {
  return p > tauLow && rDiv >= tauDiv ? 1.1 - p + w * rDiv : 0
}

/** Advantages within a group (GRPO, arXiv 2402.03300): A = (r - mean(r)) / (std(r) + 1e-4). */
function advantages(rewards: number[]): number[] {
  const center = mean(rewards)
  const std = Math.sqrt(sum(rewards.map((reward) => (reward - center) ** 2)) / (rewards.length - 1))
  return rewards.map((reward) => (reward - center) / (std + 1e-4))
}

/**
 * One step of Adam on the B completions of the groups, down the gradient of
 *
 *     L = - sum_t min(rho_t A, clip(rho_t, 1 - eps, 1 + eps) A) / (B L_max),          rho_t = pi(token_t) / pi_old(token_t)
 *
 * which is PPO's clipped loss over a constant length, so that no token weighs less for standing in a long completion
 * (Dr. GRPO, arXiv 2503.20783). No KL term, no reference model. Data without `logprobs` take pi_old from the weights at
 * the step itself, as the released code does on eight GPUs: rho is 1 and never clipped, its gradient is that of log pi.
 */
async function learn({ policy, maxTokens, learningRate }: Role, groups: Group[], s: Settings) {
  const samples = groups.flatMap(({ prompt, rollouts, rewards }) =>
    advantages(rewards).map((A, i) => ({ A, ...joinSequence(prompt, rollouts[i]!.tokens) })),
  )
  const weight = 1 / (samples.length * maxTokens)
  // A sample of advantage 0 counts in B, but pulls nowhere.
  const data = samples
    .filter(({ A }) => A !== 0)
    .map(({ A, tokens, targets, start }): Datum => {
      // The prompt, before `start`, is context: only what the model wrote itself is trained.
      return { tokens, targets, advantages: new Float32Array(tokens.length).fill(A * weight, start) }
    })
  const clip = { clipLow: 1 - s.clip, clipHigh: 1 + s.clip }
  const { loss } = await policy.forwardBackward(data, { name: 'ppo', ...clip, temperature: s.temperature })
  const adam = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 }
  const { gradNorm } = await policy.optimStep({ ...adam, learningRate })
  return { loss, gradNorm }
}

/** The completions of each request, which depend on the weights and the request's seed alone. */
async function sample({ policy, maxTokens }: Role, requests: SampleRequest[], temperature: number) {
  const calls = requests.map(({ prompt, n, seed }) => ({ prompt, n, seed }))
  const params = { maxTokens, temperature, topP: 1, topK: 0, stop: [] }
  const rollouts = await collect(policy.sample(calls, params))
  return calls.map((_, i) => rollouts.filter(({ request }) => request === i))
}

/** One turn of the game: players and history are changed. */
async function playRound(round: number, proposer: Role, solver: Role, history: Set<number>[], s: Settings) {
  // Chance comes in named streams, so that no draw depends on how many were made before it.
  const stream = (...names: (string | number)[]) => randomStream(s.seed, 'round', round, ...names)
  const request = (role: Role, text: string, n: number, i: number): SampleRequest => {
    return { prompt: encodePrompt(role, text), n, seed: stream('seed', role.name, i).int(2 ** 31) }
  }

  // 1. Draw knowledge texts k, uniformly. The solver never sees them.
  const knowledge = stream('knowledge')
  const texts = Array.from({ length: s.texts }, () => knowledge.pick(knowledgeTexts))

  // 2. The proposer writes I completions to each text.
  const requests = texts.map((text, k) => request(proposer, text, s.questions, k))
  const proposals = await sample(proposer, requests, s.temperature)

  // 3. Read a question and its label from each. Those that lack either are not asked, and earn nothing.
  const posed = proposals.flat().map((proposal, i) => {
    const { question, label } = parse(proposal.text)
    return { proposal, question, label, ...request(solver, question, s.answers, i) }
  })
  const wellFormed = posed.filter(({ question, label }) => question !== '' && label !== '')

  // 4. The solver writes J answers to each question.
  const asked = wellFormed.filter(({ prompt }) => prompt.length <= s.solverPrompt)
  const answers = await sample(solver, asked, s.temperature)

  // 5. Pay both players. Questions meet the history as it was before the round, and only then enter it.
  const tokens = (question: string) => new Set(proposer.policy.tokenizer.encode(question))
  const questions = posed.map((q): Question => {
    const rollouts = answers[asked.indexOf(q)] ?? []
    const rewards = rollouts.map(({ text }) => solverReward(text, q.label))
    const passRate = cheats(q.question, q.label) ? 0 : sum(rewards) / s.answers
    const reward = proposerReward(passRate, diversity(tokens(q.question), history, s), s)
    const valid = passRate > s.tauLow && passRate < s.tauHigh
    return { ...q, rollouts, rewards, passRate, reward, valid }
  })
  history.push(...wellFormed.map(({ question }) => tokens(question)))
  while (history.length > s.historySize) history.shift()

  // 6. The proposer takes one step on the texts with a valid question. Where all its rewards are equal, none is better.
  const groups = requests.flatMap(({ prompt }, k): Group[] => {
    const group = questions.filter(({ proposal }) => proposal.request === k)
    const rewards = group.map((q) => q.reward)
    const teaches = group.some((q) => q.valid) && new Set(rewards).size > 1
    return teaches ? [{ prompt, rollouts: proposals[k]!, rewards }] : []
  })
  const proposerSteps = groups.length > 0 ? [await learn(proposer, groups, s)] : []

  // 7. The solver takes a step for each valid question, on its answers.
  const solverSteps = []
  for (const question of questions) if (question.valid) solverSteps.push(await learn(solver, [question], s))

  return { questions, proposerSteps, solverSteps }
}

/** Watch the labels: the game does not know which are true, but this world does. If they rot, so will the solver. */
function summary(questions: Question[]): string {
  const known = questions.filter(({ question }) => solveQuestion(question) !== undefined)
  const right = known.filter(({ question, label }) => isEquivalent(solveQuestion(question)!, label))
  return [
    `${questions.filter((q) => q.valid).length} of ${questions.length} questions valid`,
    `pass rate ${mean(questions.map((q) => q.passRate)).toFixed(2)}`,
    `proposer's reward ${mean(questions.map((q) => q.reward)).toFixed(2)}`,
    `true labels ${(right.length / known.length).toFixed(2)}`,
  ].join(', ')
}

/** Share of right answers to problems that the model was never trained on. True answers measure here; they never pay. */
async function passAt1(solver: Role, temperature: number, s: Settings): Promise<number> {
  const problems = heldoutProblems(s.heldout, 0)
  const requests = problems.map(({ problem }, i) => {
    return { prompt: encodePrompt(solver, problem), n: 1, seed: randomStream(s.seed, 'eval', i).int(2 ** 31) }
  })
  const answers = await sample(solver, requests, temperature)
  return mean(problems.map(({ answer }, i) => solverReward(answers[i]![0]!.text, answer)))
}

/** Plays the whole game; `changes` take the place of the defaults. */
export async function play(changes: Partial<Settings> = {}, log = console.log) {
  const s = { ...defaults, ...changes }
  const engine = await openLocalEngine()
  const open = () => engine.open({ model: s.model, seed: s.seed })
  const proposer: Role = { name: 'proposer', policy: await open(), ...s.proposer }
  const solver: Role = { name: 'solver', policy: await open(), ...s.solver }
  const history: Set<number>[] = []

  const measure = async () => ({
    sampled: await passAt1(solver, s.temperature, s),
    greedy: await passAt1(solver, 0, s),
  })
  const before = await measure()
  const rounds = []
  for (let round = 0; round < s.rounds; round++) {
    const played = await playRound(round, proposer, solver, history, s)
    log(`round ${round + 1}/${s.rounds}: ${summary(played.questions)}`)
    rounds.push(played)
  }
  const after = await measure()
  log(`held-out pass@1: ${before.sampled.toFixed(3)} -> ${after.sampled.toFixed(3)}`)
  log(`held-out greedy: ${before.greedy.toFixed(3)} -> ${after.greedy.toFixed(3)}`)

  for (const { name, policy } of [proposer, solver])
    await policy.save(join(s.out, name), { optimizer: false })
  await engine.close()
  return { rounds, before, after }
}

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)
const mean = (values: number[]) => sum(values) / values.length

if (realpathSync(process.argv[1]!) === import.meta.filename) await play()
