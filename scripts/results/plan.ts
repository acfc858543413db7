/** What is compared with what: every run of docs/results.md, and the published effects that it is asked for. */

export interface Row {
  /** Names its run folders, and stands behind --only. */
  name: string
  /** In tables and pictures. */
  label: string
  recipe: string
  set?: readonly string[]
  /** Rounds of each run; where the comparison has a budget, rounds that no run should need. */
  rounds: number
  /** Guess of a run's length on two quiet cores, until there is a run to go by. */
  minutes: number
  /** What the learner is told of right and wrong. */
  labels: 'an answer key' | 'none'
  /** How it differs from the row that it stands beside. */
  about: string
  /** Read at so many times the budget; 1 where absent. */
  times?: number
  /** Row whose runs it reads, at a budget of its own, in the place of runs of its own. */
  runs?: string
}

/** An effect that a publication reports, or that is asked for here, as a difference between rows in pass@1. */
export interface Claim {
  /** As the publication has it, in own words. */
  says: string
  row: string
  /** A row, or the start of `row` itself. */
  than: string
  expect: 'above' | 'below' | 'alike'
  /** Compare time as well: the row is to take less. */
  faster?: true
}

export interface Picture {
  name: string
  rows: readonly string[]
}

export interface Comparison {
  name: string
  title: string
  /** What is compared, and on which problems; Markdown. */
  intro: string
  /** Token passes after which every run is read (see `Work`); at the end of its rounds where absent. */
  budget?: number
  /** Rounds between yardsticks. */
  every: number
  /** Row that the others are held against. */
  reference: string
  /** Problems of the yardstick as `sparring eval` names them, and the most tokens of an answer. */
  heldout: { problems: string; maxTokens: number }
  rows: readonly Row[]
  claims: readonly Claim[]
  pictures: readonly Picture[]
}

/** Token passes after which runs of a row are read. */
export function budgetOf({ budget }: Comparison, { times = 1 }: Row): number | undefined {
  return budget === undefined ? undefined : budget * times
}

/** The model that every row starts from, before its noisy cold start. */
export const unspoiled = 'models/tiny/base'

const pasodoble = { rounds: 1000, minutes: 2, labels: 'none' } as const

const games: Comparison = {
  name: 'games',
  title: 'Games at equal compute',
  intro: `The games, the controls of PasoDoble and the baseline with labels, all from the starter model, each stopped at
the same number of token passes. A critic reads and writes far more than its solver and learns before it, so solver and
critic are read at three times the budget as well. Held-out problems are those of the arithmetic world, of two to four terms.`,
  budget: 1.6e6,
  every: 10,
  reference: 'pasodoble',
  heldout: { problems: 'arithmetic', maxTokens: 128 },
  rows: [
    {
      name: 'pasodoble',
      label: 'PasoDoble',
      recipe: 'pasodoble-tiny',
      about: 'online: both roles learn in every round',
      ...pasodoble,
    },
    {
      name: 'offline',
      label: 'PasoDoble offline',
      recipe: 'pasodoble-offline-tiny',
      about: 'the roles take turns, a buffer of questions between them',
      ...pasodoble,
    },
    {
      name: 'random',
      label: 'random reward',
      recipe: 'pasodoble-random-tiny',
      about: 'control: every answer is paid by the toss of a coin',
      ...pasodoble,
    },
    {
      name: 'partial-random',
      label: 'partially random reward',
      recipe: 'pasodoble-partial-random-tiny',
      about: 'control: the coin for answers with a box, nothing for others',
      ...pasodoble,
    },
    {
      name: 'no-knowledge',
      label: 'without knowledge',
      recipe: 'pasodoble-no-knowledge-tiny',
      about: 'control: the proposer is given no knowledge text',
      ...pasodoble,
    },
    {
      name: 'frozen-proposer',
      label: 'frozen proposer',
      recipe: 'pasodoble-frozen-proposer-tiny',
      about: 'control: only the solver learns',
      ...pasodoble,
    },
    {
      name: 'no-diversity',
      label: 'without diversity',
      recipe: 'pasodoble-no-diversity-tiny',
      about: 'control: the proposer is paid for difficulty alone',
      ...pasodoble,
    },
    {
      name: 'self-play',
      label: 'one model, both roles',
      recipe: 'pasodoble-self-play-tiny',
      about: 'control: one set of weights plays and learns both roles',
      ...pasodoble,
    },
    {
      name: 'r-zero',
      label: 'R-Zero',
      recipe: 'r-zero-tiny',
      rounds: 1000,
      minutes: 2,
      labels: 'none',
      about: 'the solver learns from its own majority on a challenger’s questions',
    },
    {
      name: 'solver-critic-at-budget',
      label: 'solver-critic',
      recipe: 'solver-critic-tiny',
      rounds: 1000,
      minutes: 0,
      labels: 'an answer key',
      about: 'a critic judges solutions step by step; it learns alone at first',
      runs: 'solver-critic',
    },
    {
      name: 'solver-critic',
      label: 'solver-critic, 3 ×',
      recipe: 'solver-critic-tiny',
      rounds: 1000,
      minutes: 5,
      labels: 'an answer key',
      about: 'the same runs at three times the budget',
      times: 3,
    },
    {
      name: 'solver-critic-no-key',
      label: 'solver-critic, no key, 3 ×',
      recipe: 'solver-critic-tiny',
      set: ['settings.labels=majority', 'anchors.world=arithmetic'],
      rounds: 1000,
      minutes: 5,
      labels: 'none',
      about: 'the majority of the solutions in the place of the key, at three times the budget',
      times: 3,
    },
    {
      name: 'grpo',
      label: 'GRPO with labels',
      recipe: 'grpo-tiny',
      rounds: 1000,
      minutes: 2,
      labels: 'an answer key',
      about: 'baseline: paid for true answers to given problems',
    },
  ],
  claims: [
    { says: 'PasoDoble raises accuracy without labels', row: 'pasodoble', than: 'start', expect: 'above' },
    {
      says: 'PasoDoble offline raises accuracy without labels',
      row: 'offline',
      than: 'start',
      expect: 'above',
    },
    {
      says: 'with a random reward accuracy falls, almost to nothing',
      row: 'random',
      than: 'start',
      expect: 'below',
    },
    {
      says: 'with a partially random reward accuracy drops sharply',
      row: 'partial-random',
      than: 'start',
      expect: 'below',
    },
    {
      says: 'without knowledge the gain has a lower ceiling',
      row: 'no-knowledge',
      than: 'pasodoble',
      expect: 'below',
    },
    {
      says: 'with a frozen proposer performance degrades',
      row: 'frozen-proposer',
      than: 'pasodoble',
      expect: 'below',
    },
    { says: 'R-Zero raises accuracy without labels', row: 'r-zero', than: 'start', expect: 'above' },
    { says: 'GRPO raises accuracy with labels', row: 'grpo', than: 'start', expect: 'above' },
    {
      says: '(asked here) PasoDoble comes as far without labels as GRPO with them',
      row: 'pasodoble',
      than: 'grpo',
      expect: 'alike',
    },
    {
      says: '(asked here) two models come further than one in both roles',
      row: 'pasodoble',
      than: 'self-play',
      expect: 'above',
    },
    {
      says: '(asked here) the solver gains from its critic what GRPO does not give it',
      row: 'solver-critic',
      than: 'grpo',
      expect: 'above',
    },
  ],
  pictures: [
    {
      name: 'games',
      rows: ['pasodoble', 'offline', 'r-zero', 'solver-critic-at-budget', 'grpo'],
    },
    {
      name: 'controls',
      rows: [
        'pasodoble',
        'random',
        'partial-random',
        'no-knowledge',
        'frozen-proposer',
        'no-diversity',
        'self-play',
      ],
    },
  ],
}

const gar = { recipe: 'gar-tiny', rounds: 40, labels: 'an answer key' } as const

const ladder: Comparison = {
  name: 'gar',
  title: 'The ladder of GAR',
  intro: `The ablations of the paper, one step at a time, at equal rounds as in the paper; what each took stands in the
table of costs, and the last row has given plain GRPO more rounds. Held-out problems have five terms, one more than the
starter model has ever seen, so that a right answer is rarer.`,
  every: 10,
  reference: 'gar-grpo',
  heldout: { problems: 'recipes/arithmetic/long-heldout.jsonl', maxTokens: 96 },
  rows: [
    {
      name: 'gar-grpo',
      label: 'GRPO',
      set: ['settings.variant=grpo'],
      minutes: 0.7,
      about: 'paid for right answers alone',
      ...gar,
    },
    {
      name: 'gar-raw-critic',
      label: '+ raw critic, fixed',
      set: ['settings.variant=raw_critic', `roles.discriminator.model=${unspoiled}`],
      minutes: 1,
      about: 'a model that was never taught to judge grades whole solutions',
      ...gar,
    },
    {
      name: 'gar-fixed',
      label: '+ trained discriminator, fixed',
      set: ['settings.variant=fixed'],
      minutes: 2,
      about: 'judges every step, and does not learn',
      ...gar,
    },
    {
      name: 'gar-alignment',
      label: '+ R^a only',
      set: ['settings.variant=alignment_only'],
      minutes: 3.7,
      about: 'the discriminator learns to agree with the answer',
      ...gar,
    },
    {
      name: 'gar-discrimination',
      label: '+ R^d only',
      set: ['settings.variant=discrimination_only'],
      minutes: 3.7,
      about: 'the discriminator learns to tell generated steps from worked ones',
      ...gar,
    },
    { name: 'gar-full', label: 'GAR', minutes: 3.7, about: 'both', ...gar },
    {
      name: 'gar-partial',
      label: 'GAR, partial traces',
      minutes: 3.7,
      about: 'three steps and no answer: verdicts are the only reward',
      ...gar,
      recipe: 'gar-partial-tiny',
      labels: 'none',
    },
    {
      name: 'gar-grpo-long',
      label: 'GRPO, more rounds',
      set: ['settings.variant=grpo'],
      minutes: 5,
      about: 'plain GRPO with about the compute of GAR',
      ...gar,
      rounds: 400,
    },
  ],
  claims: [
    { says: 'GRPO raises accuracy', row: 'gar-grpo', than: 'start', expect: 'above' },
    {
      says: 'a critic that was not taught to judge adds nothing',
      row: 'gar-raw-critic',
      than: 'gar-grpo',
      expect: 'alike',
    },
    {
      says: 'a trained discriminator that judges steps adds something, even where it is fixed',
      row: 'gar-fixed',
      than: 'gar-grpo',
      expect: 'above',
    },
    {
      says: 'training it for agreement with answers adds to that',
      row: 'gar-alignment',
      than: 'gar-fixed',
      expect: 'above',
    },
    {
      says: 'training it to tell sources apart adds to that',
      row: 'gar-discrimination',
      than: 'gar-fixed',
      expect: 'above',
    },
    { says: 'GAR gains more than GRPO at equal rounds', row: 'gar-full', than: 'gar-grpo', expect: 'above' },
    {
      says: 'partial traces gain more than GRPO, in less time',
      row: 'gar-partial',
      than: 'gar-grpo',
      expect: 'above',
      faster: true,
    },
    {
      says: '(asked here) GAR gains more than GRPO with the same compute',
      row: 'gar-full',
      than: 'gar-grpo-long',
      expect: 'above',
    },
  ],
  pictures: [
    {
      name: 'gar',
      rows: [
        'gar-grpo',
        'gar-raw-critic',
        'gar-fixed',
        'gar-alignment',
        'gar-discrimination',
        'gar-full',
        'gar-partial',
      ],
    },
  ],
}

export const comparisons: readonly Comparison[] = [games, ladder]
