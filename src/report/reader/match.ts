/**
 * A match: one question from its birth to the update that used it, put together from the records of its round. Who is
 * who is told by the game (parts.ts); what belongs together, by groups and by the words of the question.
 */
import type { Birth, Check, Match, Update } from '../api/match.js'
import type { Rollout, RolloutRef } from '../api/rollouts.js'
import { type Block, hashText } from './block.js'
import { type JournalIndex, numberOf } from './journal.js'
import { chains, critiques, references } from './judged.js'
import { knowledgeOf } from './knowledge.js'
import { type MetricsIndex, rounded } from './metrics.js'
import { bandOf, type Config, partialSlices, roleOf, rolesOf } from './parts.js'
import { partsOf, questionOf, type RawRecord, rateOf, rolloutOf, rowOf, textOf } from './record.js'
import type { RolloutStore } from './store.js'

/** Most rollouts of a role in a match. */
const MOST = 1000

/** Most other rounds that a question is shown to be in. */
const ELSEWHERE = 100

/** Rounds in which the birth of a question and its later draws are looked for. */
const LOOK_BACK = 2000
const LOOK_AHEAD = 500

export interface Run {
  id: string
  config: Config
  metrics: MetricsIndex
  journal: JournalIndex
  store: RolloutStore
}

/** A record with where it stands. */
export interface Placed {
  ref: RolloutRef
  record: RawRecord
}

/** Undefined where there is no such rollout. */
export async function matchOf(run: Run, at: RolloutRef): Promise<Match | undefined> {
  const { config, store } = run
  const [asked] = await recordsWhere(store, at.round, at.role, (block, row) => block.line(row) === at.line)
  if (asked === undefined) return undefined
  const author = roleOf(config, 'author')
  const judge = roleOf(config, 'judge')
  // Alone in games of others' making, the group of the rollout is the match.
  const answerer = roleOf(config, 'answerer') ?? at.role

  const here = await proposalHere(store, asked, author)
  const group = at.role === author ? here?.group : numberOf(asked.record.group)
  const question = at.role === judge ? null : questionOf(asked.record)
  const answers = group == null ? [asked] : await answersTo(store, at, answerer, group, question)
  const first = answers[0]?.record ?? asked.record
  const asks = questionOf(at.role === judge ? first : asked.record) ?? questionOf(first)
  const birth = here?.proposal ?? (author ? await earlierProposal(store, first, at.round, author) : undefined)
  const judged =
    judge === undefined || group == null
      ? []
      : await recordsWhere(store, at.round, judge, (block, row) => block.group(row) === group)
  const revisions = await revisionsOf(store, at.round, answerer, asks, run)
  const mentioned = [...answers, ...judged, ...revisions, ...(here ? [here.proposal] : [])]
  const rate = rateOf(birth?.record ?? {}) ?? rateOf(first) ?? solvedShare(answers)
  return {
    run: run.id,
    game: textOf(config.game),
    round: at.round,
    at,
    question: asks,
    label: labelOf(first, birth?.record, config),
    truth: textOf(partsOf(birth?.record ?? first).truth) ?? textOf(partsOf(first).truth),
    solution: textOf(partsOf(first).reference),
    birth: birth ? await birthOf(store, birth, config) : null,
    checks: birth ? checksOf(birth.record) : [],
    rate,
    band: bandOf(config),
    answers: answers.map(shown),
    revisions: revisions.map(shown),
    critiques: critiques(judged),
    chains: chains(answers, judged),
    references: references(judged),
    partial: partialSlices(config),
    updates: updatesOf(run, at.round, mentioned),
    cutAt: [answers, judged, revisions].some((found) => found.length === MOST) ? MOST : null,
    elsewhere: await elsewhere(run, asks, at.round, answerer),
  }
}

/** Records of the rows of a file that pass. */
async function recordsWhere(
  store: RolloutStore,
  round: number,
  role: string,
  test: (block: Block, row: number) => boolean,
): Promise<Placed[]> {
  const block = await store.block(round, role)
  const rows: number[] = []
  for (let row = 0; row < block.rows && rows.length < MOST; row++) if (test(block, row)) rows.push(row)
  const found = await store.records(round, role, rows)
  return found.map(([ref, record]) => ({ ref, record }))
}

/**
 * The proposal that a rollout is of or answers, in the same round, with the group of its answers. PasoDoble numbers its
 * questions; R-Zero's answers are in the order of the proposals.
 */
async function proposalHere(
  store: RolloutStore,
  { ref, record }: Placed,
  author: string | undefined,
): Promise<{ proposal: Placed; group: number } | undefined> {
  if (author === undefined) return undefined
  const groupOf = (proposal: Placed) => numberOf(partsOf(proposal.record).question_id) ?? proposal.ref.line
  if (ref.role === author) return { proposal: { ref, record }, group: groupOf({ ref, record }) }
  if (partsOf(record).proposed_in !== undefined) return undefined
  const question = questionOf(record)
  const group = numberOf(record.group)
  const alike = await recordsWhere(store, ref.round, author, isAbout(question))
  const proposal = alike.find((each) => groupOf(each) === group && questionOf(each.record) === question)
  return proposal && { proposal, group: group! }
}

function isAbout(question: string | null): (block: Block, row: number) => boolean {
  const hash = hashText(question)
  return (block, row) => block.question(row) === hash
}

/** Of a question from a buffer or pool: its newest proposal before the round, or in the round that the answer names. */
async function earlierProposal(
  store: RolloutStore,
  answer: RawRecord,
  round: number,
  author: string,
): Promise<Placed | undefined> {
  const question = questionOf(answer)
  if (question === null) return undefined
  const { proposed_in: named, gold } = partsOf(answer)
  const born = numberOf(named)
  const rounds = born === null ? store.within(0, round - 1).slice(0, LOOK_BACK) : [born]
  if (born === null) await store.read(rounds, author)
  for (const { round: earlier, block } of born === null
    ? store.files(rounds, author)
    : [await named_(born)]) {
    const isIt = isAbout(question)
    if (!hasRow(block, isIt)) continue
    const alike = await recordsWhere(store, earlier, author, isIt)
    const same = alike.filter(({ record }) => questionOf(record) === question)
    const found = same.find(({ record }) => labelIn(record) === gold) ?? same[0]
    if (found) return found
  }
  return undefined

  async function named_(at: number) {
    return { round: at, block: await store.block(at, author) }
  }
}

function hasRow(block: Block, test: (block: Block, row: number) => boolean): boolean {
  for (let row = 0; row < block.rows; row++) if (test(block, row)) return true
  return false
}

const labelIn = (proposal: RawRecord) => partsOf(proposal).answer ?? partsOf(proposal).label

async function answersTo(
  store: RolloutStore,
  { round, role }: RolloutRef,
  answerer: string,
  group: number,
  question: string | null,
): Promise<Placed[]> {
  const answers = await recordsWhere(store, round, answerer, (block, row) => block.group(row) === group)
  const isFirst = ({ record }: Placed) => partsOf(record).revises === undefined
  // Of held-out answers and of the rollouts of unknown roles, one question's at most.
  const isSame = ({ record }: Placed) => role !== answerer || questionOf(record) === question
  return answers.filter((answer) => isFirst(answer) && isSame(answer))
}

/** Second answers stand in groups of their own. */
async function revisionsOf(
  store: RolloutStore,
  round: number,
  answerer: string,
  question: string | null,
  { config }: Run,
): Promise<Placed[]> {
  if (config.game !== 'solver-critic' || question === null) return []
  const alike = await recordsWhere(store, round, answerer, isAbout(question))
  return alike.filter(
    ({ record }) => partsOf(record).revises !== undefined && questionOf(record) === question,
  )
}

function solvedShare(answers: readonly Placed[]): number | null {
  const verdicts = answers.flatMap(({ record }) => textOf(partsOf(record).verdict) ?? [])
  if (verdicts.length === 0) return null
  return verdicts.filter((verdict) => verdict === 'equal').length / verdicts.length
}

function labelOf(answer: RawRecord, birth: RawRecord | undefined, { game }: Config): Match['label'] {
  const parts = partsOf(answer)
  const known = textOf(answer.answer)
  if (known !== null) return { text: known, from: 'known' }
  const text = textOf(parts.gold) ?? textOf(birth ? labelIn(birth) : null)
  if (text === null || text === '') return null
  if (game === 'pasodoble') return { text, from: 'author' }
  return { text, from: game === 'r-zero' || parts.labels === 'majority' ? 'majority' : 'known' }
}

async function birthOf(store: RolloutStore, { ref, record }: Placed, config: Config): Promise<Birth> {
  const group = numberOf(record.group)
  const rivals = await recordsWhere(
    store,
    ref.round,
    ref.role,
    (block, row) => block.group(row) === group && block.line(row) !== ref.line,
  )
  return {
    round: ref.round,
    proposal: shown({ ref, record }),
    knowledge: knowledgeOf(textOf(record.prompt) ?? '', config, ref.role),
    rivals: rivals.map((rival) => rowOf(rival.record, rival.ref)),
  }
}

/** What PasoDoble and R-Zero look at before they let anyone learn from a question. */
function checksOf(proposal: RawRecord): Check[] {
  const parts = partsOf(proposal)
  const fate = textOf(parts.fate)
  if (fate === null) return []
  const isForm = fate !== 'unparsable'
  const wasAsked = isForm && fate !== 'leaks_answer' && fate !== 'too_long'
  const rate = rateOf(proposal)
  const { flaw, duplicates, cluster, valid_for_solver: valid, label_right: right, truth } = parts
  const check = (name: Check['name'], passed: boolean | null, found: Check['found']): Check[] => [
    { name, passed, found: found ?? null },
  ]
  return [
    ...check('well_formed', isForm, isForm ? null : fate),
    ...(flaw === undefined ? [] : check('no_leak', isForm ? flaw === null : null, flaw)),
    ...check('not_too_long', isForm && fate !== 'leaks_answer' ? fate !== 'too_long' : null, null),
    ...check('in_band', wasAsked ? (valid === undefined ? fate === 'valid' : valid === true) : null, rate),
    ...(typeof duplicates === 'number' ? check('new', isForm ? duplicates === 0 : null, duplicates) : []),
    // A cluster holds the question itself.
    ...(typeof cluster === 'number' ? check('new', isForm ? cluster <= 1 : null, cluster - 1) : []),
    ...check('label_true', typeof right === 'boolean' ? right : null, truth ?? null),
  ]
}

/** Every role of the match with its steps in the round. */
function updatesOf({ config, metrics, journal }: Run, round: number, of: readonly Placed[]): Update[] {
  const row = metrics.rowOf(round)
  const skipped = journal.skipped.findLast((each) => each.round === round)?.reason ?? null
  const steps = /^(loss|optim\/.*|ratio\/.*|clip\/.*|policy\/kl_.*)$/
  return rolesOf(config).flatMap(({ name: role }) => {
    const own = of.filter(({ ref }) => ref.role === role && ref.round === round)
    if (own.length === 0) return []
    const names = metrics.names.filter((name) => name.startsWith(`${role}/`))
    const numbers = names.flatMap((name): [string, number | null][] => {
      const short = name.slice(role.length + 1)
      const value = metrics.value(name, row)
      return steps.test(short) && !Number.isNaN(value) ? [[short, rounded(value)]] : []
    })
    return {
      role,
      round,
      used: own.some(({ record }) => record.trained === true),
      before: journal.version(role, round - 1),
      after: journal.version(role, round),
      metrics: Object.fromEntries(numbers),
      skipped,
    }
  })
}

/** One rollout of each other round, as far as rollouts were read, in which the question was put to the answerer. */
async function elsewhere(
  { config, store }: Run,
  question: string | null,
  round: number,
  answerer: string,
): Promise<RolloutRef[]> {
  if (question === null) return []
  // Where questions are kept, the rounds behind this one are those to look at first.
  const isKept = config.game === 'r-zero' || config.settings?.schedule === 'offline'
  if (isKept) await store.read(store.within(round, round + LOOK_AHEAD).reverse(), answerer)
  const isIt = isAbout(question)
  const found: RolloutRef[] = []
  for (const file of store.files(store.within(), answerer)) {
    if (file.round === round || found.length === ELSEWHERE) continue
    for (let row = 0; row < file.block.rows; row++) {
      if (!isIt(file.block, row)) continue
      found.push({ round: file.round, role: answerer, line: file.block.line(row) })
      break
    }
  }
  return found
}

export function shown({ ref, record }: Placed): Rollout {
  return rolloutOf(record, ref)
}
