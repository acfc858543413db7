/** Flags of `sparring eval` that do not go together, refused before anything is read, fetched or asked. */
import { resolve } from 'node:path'
import { ConfigError } from '../core/errors.js'
import { benchmarkNames } from '../eval/benchmarks/registry.js'
import { baseUrl, keyFrom } from '../eval/endpoint-address.js'
import type { EvalFlags } from './eval-plan.js'

/** What --compare goes with. */
const comparing = ['compare', 'json']
const ofServices = ['concurrency', 'apiKeyEnv'] as const
const ofFolders = ['role', 'threads'] as const

/** Throws ConfigError. */
export function checkFlags(names: string[], flags: EvalFlags): void {
  if (flags.compare) checkCompare(flags.compare, names, flags)
  else {
    checkNames(names)
    checkModel(flags)
  }
}

function checkCompare(files: string[], names: string[], flags: EvalFlags): void {
  if (files.length !== 2 || names.length > 0) {
    throw new ConfigError(`--compare takes two results files, not ${files.length + names.length}.`, {
      hint: 'For example: sparring eval --compare evals/before.json evals/after.json',
    })
  }
  const alien = Object.entries(flags).find(
    ([name, value]) => value !== undefined && !comparing.includes(name),
  )?.[0]
  if (alien === undefined) return
  throw new ConfigError(
    `${spelled(alien)} is about an evaluation, and --compare reads two that are finished.`,
    {
      hint: `Leave ${spelled(alien)} out.`,
    },
  )
}

function checkNames(names: string[]): void {
  if (names.length === 0) {
    throw new ConfigError('There is no benchmark to measure on.', {
      hint: 'Name one, such as arithmetic or gsm8k, or a JSONL file of {problem, answer}.',
    })
  }
  const places = names.map((name) => (benchmarkNames.includes(name) ? name : resolve(name)))
  const twice = names.find((_, i) => places.indexOf(places[i]!) < i)
  if (twice !== undefined) {
    throw new ConfigError(`${twice} is named twice.`, { hint: 'Name each benchmark once.' })
  }
}

function checkModel(flags: EvalFlags): void {
  const { model, endpoint, apiKeyEnv } = flags
  if (model === undefined) {
    const what = endpoint === undefined ? 'There is no model to measure' : '--endpoint needs a model to ask'
    throw new ConfigError(`${what}.`, {
      hint: 'Name a model folder or a run with --model, or a service with --endpoint URL --model NAME.',
    })
  }
  const alien = (endpoint === undefined ? ofServices : ofFolders).find((name) => flags[name] !== undefined)
  if (alien !== undefined) {
    const [is, asked] =
      endpoint === undefined
        ? ['a service', '--model names a folder or run, without --endpoint']
        : ['a model on this machine', '--endpoint asks a service']
    throw new ConfigError(`${spelled(alien)} is about ${is}, and ${asked}.`, {
      hint: `Leave ${spelled(alien)} out.`,
    })
  }
  if (endpoint !== undefined) baseUrl(endpoint)
  if (apiKeyEnv !== undefined && keyFrom(apiKeyEnv) === undefined) {
    throw new ConfigError(`--api-key-env names ${apiKeyEnv}, which is not set.`, {
      hint: `Set the environment variable ${apiKeyEnv} to a key of the service, or leave --api-key-env out.`,
    })
  }
}

/** apiKeyEnv as --api-key-env. */
function spelled(name: string): string {
  return `--${name.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)}`
}
