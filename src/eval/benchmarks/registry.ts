/** Benchmarks by name: where their problems are and how their rows are read. Data alone; load.ts reads by it. */
import type { HubSource } from '../../hub/datasets.js'

export type Kind = 'maths' | 'choice' | 'code'

/** Names of a row's columns. */
export interface Columns {
  id?: string
  problem: string
  answer: string
  /** Wrong choices beside the answer, of which a multiple-choice problem is made. */
  wrong?: string[]
  level?: string
  subject?: string
  /** Code tasks: the program that checks a solution, and the function that it calls. */
  test?: string
  entryPoint?: string
}

export interface HubSet extends HubSource {
  columns: Columns
  /** The answer stands behind the last of these in its column. */
  answerAfter?: string
  /** Problems, where the Hub has another number than `size`. */
  size?: number
  /** Rows have a form of their own instead of columns. */
  form?: 'livecodebench'
}

export interface Benchmark {
  name: string
  kind: Kind
  /** Problems of the whole set. */
  size: number
  /** File in a data folder: lines of {id, problem, answer, level?, subject?, choices?}. */
  file?: string
  hub: HubSet
  /** Said with a problem: what form the answer shall have. `{problem}` is the row's own text. */
  ask?: string
  /** Why the text may not be passed on, where it may not. */
  restricted?: string
}

const maths = (name: string, size: number, file: string, hub: HubSet, restricted?: string): Benchmark => ({
  name,
  kind: 'maths',
  size,
  file,
  hub,
  ...(restricted !== undefined && { restricted }),
})

/** Branch of the Hub that holds every data set as Parquet, under names made of configuration and split. */
const converted = 'refs/convert/parquet'

const contest = (owner: string) => `The problems belong to ${owner}: for evaluation only.`

export const benchmarks: readonly Benchmark[] = [
  maths('gsm8k', 1319, 'gsm8k_test.jsonl', {
    repo: 'openai/gsm8k',
    files: ['main/test-00000-of-00001.parquet'],
    columns: { problem: 'question', answer: 'answer' },
    answerAfter: '####',
  }),
  maths(
    'math500',
    500,
    'math500.jsonl',
    {
      repo: 'HuggingFaceH4/MATH-500',
      files: ['test.jsonl'],
      columns: { id: 'unique_id', problem: 'problem', answer: 'answer', level: 'level', subject: 'subject' },
    },
    contest('the contests they were taken from'),
  ),
  maths(
    'aime24',
    30,
    'aime24.jsonl',
    {
      repo: 'HuggingFaceH4/aime_2024',
      files: ['data/train-00000-of-00001.parquet'],
      columns: { id: 'id', problem: 'problem', answer: 'answer' },
    },
    contest('the Mathematical Association of America'),
  ),
  maths(
    'aime25',
    30,
    'aime25.jsonl',
    {
      repo: 'math-ai/aime25',
      files: ['test.jsonl'],
      columns: { id: 'id', problem: 'problem', answer: 'answer' },
    },
    contest('the Mathematical Association of America'),
  ),
  maths(
    'amc23',
    40,
    'amc23.jsonl',
    {
      repo: 'math-ai/amc23',
      files: ['test-00000-of-00001.parquet'],
      columns: { id: 'id', problem: 'question', answer: 'answer' },
    },
    contest('the Mathematical Association of America'),
  ),
  maths('olympiadbench', 675, 'olympiadbench_oe_maths_en.jsonl', {
    repo: 'Hothan/OlympiadBench',
    files: ['OlympiadBench/OE_TO_maths_en_COMP/OE_TO_maths_en_COMP.parquet'],
    columns: { id: 'id', problem: 'question', answer: 'final_answer', subject: 'subfield' },
    size: 674,
  }),
  maths(
    'livemathbench',
    140,
    'livemathbench.jsonl',
    {
      repo: 'opencompass/LiveMathBench',
      revision: converted,
      files: ['AMC', 'CCEE', 'CNMO', 'WLPMC', 'hard'].map((part) => `v202412_${part}_en/test/0000.parquet`),
      columns: { problem: 'question', answer: 'answer' },
    },
    'Its licence is not clear, and its data set on the Hub is gated.',
  ),
  maths(
    'hmmt25',
    30,
    'hmmt_feb_2025.jsonl',
    {
      repo: 'MathArena/hmmt_feb_2025',
      revision: converted,
      files: ['default/train/0000.parquet'],
      columns: { id: 'problem_idx', problem: 'problem', answer: 'answer' },
    },
    contest('the Harvard-MIT Mathematics Tournament'),
  ),
  maths(
    'minerva',
    272,
    'minerva_math.jsonl',
    {
      repo: 'math-ai/minervamath',
      revision: converted,
      files: ['default/test/0000.parquet'],
      columns: { problem: 'question', answer: 'answer' },
    },
    'MIT OpenCourseWare, CC BY-NC-SA: not for commercial use.',
  ),
  {
    name: 'gpqa',
    kind: 'choice',
    size: 198,
    hub: {
      repo: 'Idavidrein/gpqa',
      files: ['gpqa_diamond.csv'],
      columns: {
        id: 'Record ID',
        problem: 'Question',
        answer: 'Correct Answer',
        wrong: ['Incorrect Answer 1', 'Incorrect Answer 2', 'Incorrect Answer 3'],
        subject: 'High-level domain',
      },
    },
    restricted: 'Its authors ask that no example be shown in plain text; the data set on the Hub is gated.',
  },
  {
    name: 'humaneval',
    kind: 'code',
    size: 164,
    file: 'humaneval.jsonl',
    hub: {
      repo: 'openai/openai_humaneval',
      files: ['openai_humaneval/test-00000-of-00001.parquet'],
      columns: {
        id: 'task_id',
        problem: 'prompt',
        answer: 'canonical_solution',
        test: 'test',
        entryPoint: 'entry_point',
      },
    },
    ask: 'Complete this Python function. Answer with the whole function, imports included, in one ```python block.\n\n```python\n{problem}```',
  },
  {
    name: 'livecodebench',
    kind: 'code',
    size: 1055,
    hub: {
      repo: 'livecodebench/code_generation_lite',
      files: ['test.jsonl', 'test2.jsonl', 'test3.jsonl', 'test4.jsonl', 'test5.jsonl', 'test6.jsonl'],
      columns: { problem: 'question_content', answer: 'private_test_cases' },
      form: 'livecodebench',
    },
  },
]

/** Own columns of a JSONL file in a data folder, and of any JSONL file that is named by its path. */
export const ownColumns: Columns = {
  id: 'id',
  problem: 'problem',
  answer: 'answer',
  level: 'level',
  subject: 'subject',
  test: 'test',
  entryPoint: 'entry_point',
}

/** Names that `sparring eval` knows, the arithmetic world's included. */
export const benchmarkNames = ['arithmetic', ...benchmarks.map(({ name }) => name)]
