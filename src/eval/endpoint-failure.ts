/** What is said when a service refuses or fails: one sentence that names address and model, and what to do. */
import { AuthError, ServiceError } from '../core/errors.js'
import { nearest } from '../core/nearest.js'

/** A refusal that another try will not mend. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    /** What the server said: JSON, or any other text. */
    readonly text: string,
  ) {
    super(`HTTP ${status}`)
  }
}

export interface Target {
  /** Base address. */
  url: string
  model: string
  /** Environment variable that the key is taken from. */
  apiKeyEnv: string
  hasKey: boolean
}

/** What the service was found to offer when asked after a refusal. */
export interface Findings {
  /** Names of its models, where it lists them. */
  models?: string[]
  /** Another base address that does list models. */
  otherUrl?: string
}

export const saysContext =
  /context[ _-]?(length|window|size)|max_model_len|maximum (number of )?tokens|(max_tokens|max_completion_tokens)\W* is too large|at most \d+ (completion|output) tokens/i
export const saysModel = /model/i
const saysQuota = /insufficient_quota|exceeded your current quota|billing/i

/** HTTP statuses that say no more than "not now". */
export function isPassing(status: number, text: string): boolean {
  if (status === 429) return !saysQuota.test(text)
  return [408, 409, 425].includes(status) || (status >= 500 && status !== 501)
}

export function refusal(target: Target, path: string, refused: Refused, found: Findings): ServiceError {
  const { url, model, apiKeyEnv, hasKey } = target
  const said = words(refused.text)
  const error = (message: string, hint: string) => new ServiceError(message, { hint, retryable: false })
  const { status } = refused
  if (status === 401 && !hasKey) {
    return new AuthError(`${url} wants a key, and ${apiKeyEnv} is not set.`, {
      hint: `Set the environment variable ${apiKeyEnv} to a key of this service.`,
    })
  }
  if (status === 401 || status === 403) {
    const what = status === 401 ? 'does not know the key' : `does not let the key use ${model}`
    return new AuthError(`${url} ${hasKey ? what : `refuses ${model} without a key`} (HTTP ${status}).`, {
      hint: `Check that ${apiKeyEnv} holds a key of this service, and what that key may use.`,
    })
  }
  if (status === 402 || status === 429) {
    return error(
      `${url} has no credit left for this key: ${said}.`,
      'Add credit, then go on: answers that were given are kept.',
    )
  }
  if (saysContext.test(refused.text)) {
    return error(
      `${model} at ${url} cannot give an answer of this length: ${said}.`,
      'Lower the token limit, take fewer shots, or serve the model with a longer context.',
    )
  }
  if (found.models && !found.models.includes(model) && (status === 404 || saysModel.test(refused.text))) {
    return error(`There is no model ${model} at ${url}.`, modelsHint(model, found.models))
  }
  if (status === 404 || status === 405) return notFound(target, path, status, found)
  return error(
    `${model} at ${url} refuses the request (HTTP ${status}): ${said}.`,
    'The server names what it does not take; another protocol, or another server, may fit.',
  )
}

function notFound(
  { url, model }: Target,
  path: string,
  status: number,
  { models, otherUrl }: Findings,
): ServiceError {
  const message = `${url}/${path} is not there (HTTP ${status}); ${model} was asked for.`
  if (otherUrl)
    return new ServiceError(message, { hint: `${otherUrl} answers: give that.`, retryable: false })
  const hint =
    models && path === 'completions'
      ? 'This service has no plain completions: take a protocol that asks in a conversation.'
      : 'Give the base address of an OpenAI-compatible service; most end in /v1.'
  return new ServiceError(message, { hint, retryable: false })
}

function modelsHint(model: string, models: string[]): string {
  if (models.length === 0) return 'The service lists no model at all.'
  const near = nearest(model, models)
  const shown = models.slice(0, 12)
  const rest = models.length > shown.length ? `, and ${models.length - shown.length} more` : ''
  return `${near ? `Did you mean ${near}? ` : ''}Its models are: ${shown.join(', ')}${rest}.`
}

/** The message of an error body, or the body itself, as one short line without its full stop. */
export function words(text: string): string {
  let said = text
  try {
    const body = JSON.parse(text)
    const inner = body?.error?.message ?? body?.error ?? body?.message ?? body?.detail ?? body
    said = typeof inner === 'string' ? inner : JSON.stringify(inner)
  } catch {}
  const line = said.replace(/\s+/g, ' ').trim().replace(/\.$/, '')
  if (line === '') return 'the server does not say why'
  return line.length > 300 ? `${line.slice(0, 300)}...` : line
}
