/**
 * Protocols: named presets that fix everything which an accuracy depends on beside the model and the problems. A flag
 * changes one value; a results file holds the whole of what was in force.
 */
import { ConfigError } from '../core/errors.js'
import { nearest } from '../core/nearest.js'
import { type ChatPrompt, chat, fill } from '../games/chat.js'
import { defaultPrompts } from '../games/pasodoble/prompts.js'
import { defaultLimits, type Limits } from '../grader/code/index.js'
import { TOLERANCE } from '../grader/equivalence.js'
import { defaultMethods, type Method } from '../grader/extract/index.js'
import type { AnswerPrompt } from './answerer.js'
import type { Kind } from './benchmarks/registry.js'
import type { Prompt } from './evaluate.js'
import { gameGrading } from './grading.js'
import { mathsShots } from './shots.js'

export interface Protocol {
  name: string
  /** What is put for a problem of each kind, `{problem}` in the place of the problem; absent: this kind cannot be put. */
  prompt: Partial<Record<Kind, AnswerPrompt>>
  /** Worked examples in the prompt. */
  shots: number
  /** Samples a problem. */
  samples: number
  /** 0 = greedy. */
  temperature: number
  topP: number
  /** Most tokens of an answer. */
  maxTokens: number
  /** Texts that end an answer. */
  stop: string[]
  /** The same seed draws the same samples. */
  seed: number
  /** How answers are taken from texts and compared. */
  grader: GradingRules
}

export interface GradingRules {
  /** Where an answer is looked for, in this order. */
  extract: Method[]
  /** See `EquivalenceOptions`. */
  tolerance: number
  unevaluated: 'accept' | 'refuse'
  /** Time that one comparison has, milliseconds. */
  deadlineMs: number
  /** Of code: what a program may use. */
  code?: Limits
}

interface Rules {
  extract: readonly Method[]
  unevaluated?: GradingRules['unevaluated']
}

/** Values that a flag may change. */
export type Changes = Partial<Pick<Protocol, 'samples' | 'temperature' | 'topP' | 'maxTokens' | 'seed'>>

/** What the reference implementation of PasoDoble takes: the last box, and nothing else. */
const boxed = grading({ extract: ['last_box'] })
/** Whatever way a model has to say its answer. */
const lenient = grading({ extract: defaultMethods })

const zeroShot = { shots: 0, topP: 1, stop: [], seed: 0 }

function grading({ extract, unevaluated = 'accept' }: Rules): GradingRules {
  return { extract: [...extract], tolerance: TOLERANCE, unevaluated, deadlineMs: 5000 }
}

/** The same prompt for every kind. */
function alike(prompt: AnswerPrompt): Record<Kind, AnswerPrompt> {
  return { maths: prompt, choice: prompt, code: prompt }
}

const think = `Think the problem through before you answer it. Write the thinking between <think> and </think>, and after it the answer alone between <answer> and </answer>:
<think>
...
</think>
<answer>
...
</answer>`

const { system, user } = defaultPrompts.solver

const presets: Protocol[] = [
  {
    ...zeroShot,
    name: 'greedy',
    prompt: {
      maths: {
        messages: chat('', '{problem}\n\nReason step by step, and put the final answer in \\boxed{}.'),
      },
      choice: {
        messages: chat(
          '',
          '{problem}\n\nReason step by step, and put the letter of the right choice in \\boxed{}.',
        ),
      },
      code: { messages: chat('', '{problem}') },
    },
    samples: 1,
    temperature: 0,
    maxTokens: 4096,
    grader: lenient,
  },
  {
    ...zeroShot,
    name: 'pasodoble',
    prompt: alike({ messages: chat(system, fill(user, { question: '{problem}' })), suffix: '<think>\n' }),
    samples: 6,
    temperature: 0.6,
    maxTokens: 6144,
    grader: boxed,
  },
  {
    name: 'pasodoble-base',
    prompt: { maths: fewShot(), choice: fewShot() },
    shots: mathsShots.length,
    samples: 6,
    temperature: 0.6,
    topP: 1,
    maxTokens: 6144,
    stop: ['\nQuestion:'],
    seed: 0,
    grader: boxed,
  },
  {
    ...zeroShot,
    name: 'gar',
    prompt: alike({ messages: chat(think, '{problem}') }),
    samples: 10,
    temperature: 0.6,
    topP: 0.95,
    maxTokens: 32_768,
    grader: lenient,
  },
]

/** As the game of a run puts problems, or bare; sampled as a run's own yardsticks are, and greedy. */
const game = { ...zeroShot, samples: 1, maxTokens: 512, grader: grading(gameGrading) }
const gamePresets = [
  { ...game, name: 'game', temperature: 1 },
  { ...game, name: 'game-greedy', temperature: 0 },
]

export const protocolNames = [...presets, ...gamePresets].map(({ name }) => name)

/**
 * A preset with the changed values. `gamePrompt` is how the game of the model's run puts problems. Throws ConfigError
 * for a name that is none, and for changes that contradict each other.
 */
export function protocolOf(name: string, gamePrompt: Prompt, changes: Changes = {}): Protocol {
  const preset =
    presets.find((each) => each.name === name) ??
    gamePresets
      .map((each) => ({ ...each, prompt: alike(gamePrompt('{problem}')) }))
      .find((each) => each.name === name)
  if (preset === undefined) {
    const guess = nearest(name, protocolNames)
    throw new ConfigError(`There is no protocol ${name}.`, {
      hint: guess ? `Did you mean ${guess}?` : `The protocols are ${protocolNames.join(', ')}.`,
    })
  }
  const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined))
  const protocol = { ...preset, ...given }
  if (protocol.temperature === 0 && protocol.samples > 1) {
    if (changes.samples !== undefined) {
      throw new ConfigError(
        `--samples ${protocol.samples} needs a temperature above 0: greedy answers are all alike.`,
        {
          hint: 'Give --temperature as well, or another protocol.',
        },
      )
    }
    protocol.samples = 1
  }
  if (protocol.topP <= 0 || protocol.topP > 1) {
    throw new ConfigError(`--top-p must be above 0 and at most 1, not ${protocol.topP}.`, {
      hint: '1 switches it off.',
    })
  }
  return protocol
}

/** The protocol as it bears on problems of these kinds, which is what a results file records. */
export function protocolFor(protocol: Protocol, kinds: ReadonlySet<Kind>): Protocol {
  const { name, prompt: _, grader: rules, ...rest } = protocol
  const prompt = Object.fromEntries([...kinds].map((kind) => [kind, promptOf(protocol, kind)]))
  const grader = { ...rules, ...(kinds.has('code') && { code: defaultLimits }) }
  return { name, prompt, ...rest, grader }
}

/** What is put for a problem. Throws ConfigError where the protocol has no prompt for its kind. */
export function promptFor(protocol: Protocol, kind: Kind, problem: string): AnswerPrompt {
  const prompt = promptOf(protocol, kind)
  if ('text' in prompt) return { text: fill(prompt.text, { problem }) }
  const messages = prompt.messages.map((message) => ({
    ...message,
    content: fill(message.content, { problem }),
  }))
  return { ...(prompt as ChatPrompt), messages }
}

function promptOf({ name, prompt }: Protocol, kind: Kind): AnswerPrompt {
  const found = prompt[kind]
  if (found !== undefined) return found
  throw new ConfigError(`The protocol ${name} cannot put ${kind} problems.`, {
    hint: 'Take another one with --protocol.',
  })
}

function fewShot(): AnswerPrompt {
  const shots = mathsShots.map(({ question, answer }) => `Question: ${question}\nAnswer: ${answer}\n\n`)
  return { text: `${shots.join('')}Question: {problem}\nAnswer:` }
}
