/** The proxies that http_proxy, https_proxy and no_proxy name: one reading of them for everything that asks the network. */
import { Agent, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici'
import { ConfigError, messageOf } from './errors.js'

/** Code of a failure of the proxy itself: the server heard nothing. */
export const proxyFailure = 'ERR_PROXY_FAILED'

/** A proxy that hangs up fails the request: undici would go on connecting for ever. */
class ProxyPool extends Pool {
  override async connect(options: Dispatcher.ConnectOptions): Promise<never> {
    return (super.connect(options) as Promise<never>).catch((cause) => {
      const error = new Error(`the proxy fails: ${messageOf(cause)}`, { cause })
      throw Object.assign(error, { code: proxyFailure })
    })
  }
}

export function hasProxy(env: NodeJS.ProcessEnv = process.env): boolean {
  const { http, https } = proxiesOf(env)
  return http !== undefined || https !== undefined
}

function proxiesOf(env: NodeJS.ProcessEnv) {
  return {
    http: env.http_proxy || env.HTTP_PROXY || undefined,
    https: env.https_proxy || env.HTTPS_PROXY || undefined,
  }
}

/**
 * Connections through the proxies of the environment, direct ones where there are none; this machine is always asked
 * directly. Throws ConfigError where a proxy cannot be used.
 */
export function openAgent(options: Agent.Options = {}, env: NodeJS.ProcessEnv = process.env): Dispatcher {
  if (!hasProxy(env)) return new Agent(options)
  const { http, https } = proxiesOf(env)
  const noProxy = [env.no_proxy ?? env.NO_PROXY, 'localhost', '127.0.0.1', '[::1]'].filter(Boolean).join(',')
  try {
    return new EnvHttpProxyAgent({
      ...options,
      httpProxy: http ?? '',
      httpsProxy: https ?? '',
      noProxy,
      clientFactory: (origin, options) => new ProxyPool(origin, options as Pool.Options),
    })
  } catch (cause) {
    throw new ConfigError(
      `The proxy that http_proxy or https_proxy names cannot be used: ${messageOf(cause)}.`,
      { hint: 'Give it as http://HOST:PORT, or unset the variable.', cause },
    )
  }
}
