/** Short-lived tokens (JWT) that a server gives in exchange for a key, each used until most of its life is over. */
import { jsonOfText, shaped } from './shape.js'
import { answers } from './wire/endpoints.js'

const usedShare = 0.8
/** Life of a token that does not say when it ends, or whose server's clock is not ours, ms. */
const unknownLifeMs = 60_000

export class Tokens {
  #token: Promise<string> | undefined
  #until = 0
  current: string | undefined

  /** `fetch` gives the body of a server's answer. */
  constructor(private readonly fetch: () => Promise<string>) {}

  get(): Promise<string> {
    if (!this.#token || performance.now() >= this.#until) {
      this.#until = Number.POSITIVE_INFINITY
      this.#token = this.#renew()
    }
    return this.#token
  }

  /** The server did not take this one. */
  drop(token: string | undefined): void {
    if (token === this.current) this.#token = undefined
  }

  async #renew(): Promise<string> {
    try {
      const { jwt } = shaped(answers['auth/token'], jsonOfText(await this.fetch()))
      this.current = jwt
      this.#until = performance.now() + usedShare * lifeOf(jwt)
      return jwt
    } catch (error) {
      this.#token = undefined
      throw error
    }
  }
}

function lifeOf(jwt: string): number {
  try {
    const { exp } = JSON.parse(Buffer.from(jwt.split('.')[1]!, 'base64url').toString('utf8'))
    const life = exp * 1000 - Date.now()
    return life > 0 ? life : unknownLifeMs
  } catch {
    return unknownLifeMs
  }
}
