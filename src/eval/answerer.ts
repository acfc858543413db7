/** What an evaluation asks: a policy of an engine, or a service that speaks the OpenAI protocol. */
import type { StopReason } from '../core/rollout.js'
import type { ChatPrompt } from '../games/chat.js'

/** A conversation, or a bare text to go on from (for base models). */
export type AnswerPrompt = ChatPrompt | { text: string }

export interface AnswerRequest {
  prompt: AnswerPrompt
  /** Answers wanted. */
  n: number
  /** The same seed gives the same answers, as far as the answerer can promise that. */
  seed: number
}

export interface AnswerParams {
  /** Most tokens of an answer. */
  maxTokens: number
  /** 0 = greedy. */
  temperature: number
  /** 1 = off. */
  topP: number
  /** Texts that end an answer; they are not part of it. */
  stop: string[]
}

export interface Answer {
  /** Index of the request. */
  request: number
  /** Number of the answer within its request, from 0 to n - 1. */
  index: number
  text: string
  tokens: number
  /** `stop` also where a service does not tell its own end of text from a stop text. */
  stop: StopReason
}

export interface Answerer {
  /** What is asked, as a results file names it: a model folder, or a model and its address. */
  readonly name: string
  /** How what was asked differs from what the requests say, one sentence each. */
  readonly notes?: string[]
  /** Answers as they finish, in any order. Throws EngineError or ServiceError where it cannot go on. */
  answer(requests: AnswerRequest[], params: AnswerParams, signal?: AbortSignal): AsyncIterable<Answer>
  close(): Promise<void>
}
