/** The servers of an engine: one connection and one session each, made when the first policy needs them. */
import { join } from 'node:path'
import { messageOf } from '../../core/errors.js'
import type { Patience, Service, Session, Wait } from '../../tinker/client.js'
import type { DialectName } from '../../tinker/profile.js'
import { connect } from '../../tinker/service.js'
import type { RemoteModel } from '../engine.js'

export interface TinkerEngineOptions {
  /** Address of the server, without /api/v1. @default TINKER_BASE_URL, else the hosted service */
  url?: string | undefined
  /** @default what the server says of itself */
  dialect?: DialectName | undefined
  /** Folder for journals of requests: by them, models of a process that was killed are given back. */
  journal?: string | undefined
  /** Hears of waits longer than 10 s. */
  onWait?: ((sentence: string) => void) | undefined
  /** Hears of what went wrong and is tried again, and of what a server does otherwise than asked. */
  onWarning?: ((sentence: string) => void) | undefined
  patience?: Partial<Patience> | undefined
  /** Ends everything that is asked of servers. */
  signal?: AbortSignal | undefined
}

export interface Server {
  service: Service
  session: Session
  /** Policies of this engine that have a model there. */
  policies: Set<object>
}

/** Longest wait for a server to take a model back. */
export const unloadMs = 30_000

export class Servers {
  readonly #open = new Map<string, Promise<Server>>()

  constructor(private readonly options: TinkerEngineOptions) {}

  /** `kept` names what the server keeps of an earlier run. Throws what `connect` throws. */
  at({ url: own, role }: RemoteModel = {}, kept?: string): Promise<Server> {
    const url = own ?? this.options.url ?? (process.env.TINKER_BASE_URL || undefined)
    const key = url ?? ''
    const known = this.#open.get(key) ?? this.#connect(url, this.#settingOf(own, role, kept))
    this.#open.set(key, known)
    known.catch(() => this.#open.delete(key))
    return known
  }

  async close(): Promise<void> {
    for (const server of this.#open.values()) await (await server.catch(() => undefined))?.service.close()
  }

  /** How the user knows an address. */
  #settingOf(own: string | undefined, role: string | undefined, kept: string | undefined): string {
    if (role === undefined && kept !== undefined) return `which keeps ${kept}`
    if (own !== undefined) return `roles.${role ?? 'ROLE'}.url`
    const variable = process.env.TINKER_BASE_URL ? 'TINKER_BASE_URL' : 'the hosted service'
    const setting = this.options.url === undefined ? variable : 'engine.url'
    return role === undefined ? setting : `${setting}, for the role ${role}`
  }

  async #connect(url: string | undefined, setting: string): Promise<Server> {
    const { dialect, journal, onWait, onWarning, patience, signal } = this.options
    const service = await connect({
      ...(url !== undefined && { baseUrl: url }),
      ...(dialect && { dialect }),
      ...(journal !== undefined && { journal: join(journal, folderOf(url)) }),
      ...(onWait && { onWait: (wait) => onWait(sentenceOf(wait)) }),
      ...(onWarning && { onWarning }),
      ...(patience && { patience }),
      ...(signal && { signal }),
      settings: { url: setting, dialect: 'engine.dialect' },
    })
    try {
      await giveBack(service, onWarning)
      const session = await service.createSession({ tags: ['sparring'] })
      return { service, session, policies: new Set() }
    } catch (error) {
      await service.close()
      throw error
    }
  }
}

/** Models of an earlier process of this run hold places on the server; what it saved is loaded into new ones. */
async function giveBack(service: Service, warn: TinkerEngineOptions['onWarning']): Promise<void> {
  try {
    const past = await service.resume({ deadlineMs: unloadMs })
    if (!past) return
    for (const model of past.models) await model.unload({ deadlineMs: unloadMs }).then(undefined, () => {})
    past.session.close()
  } catch (error) {
    warn?.(`Models of the run's earlier process were not given back to ${service.url}: ${messageOf(error)}`)
  }
}

function sentenceOf({ what, seconds, count }: Wait): string {
  const many = count > 1 ? `, ${count} of them` : ''
  return `waiting ${Math.round(seconds)} s for ${what}${many}`
}

function folderOf(url = 'hosted'): string {
  return url
    .replace(/^https?:\/\//, '')
    .replace(/[^\w.-]+/g, '-')
    .replace(/^[.-]+|-+$/g, '')
}
