/** The server of `sparring ui`: listens, and ends cleanly. */
import type { AddressInfo } from 'node:net'
import { type ServerType, serve } from '@hono/node-server'
import type { Hono } from 'hono'
import { ConfigError, messageOf } from '../../core/errors.js'

/** Where a free port is looked for when none was asked for. */
const PORT = 7700
const TRIES = 20

export interface Listening {
  /** That was taken. */
  port: number
  /** Ends every connection. */
  close(): Promise<void>
}

/** @param port to listen on, 0 for any; the first free one from 7700 on where absent. Throws ConfigError where it is taken. */
export async function listen(app: Hono, host: string, port: number | undefined): Promise<Listening> {
  for (let at = port ?? PORT; ; at++) {
    const server = await tryPort(app, host, at).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' && port === undefined && at < PORT + TRIES) return undefined
      throw explain(error, host, at)
    })
    if (server) return { port: (server.address() as AddressInfo).port, close: () => close(server) }
  }
}

function tryPort({ fetch }: Hono, hostname: string, port: number): Promise<ServerType> {
  return new Promise((resolve, reject) => {
    const server = serve({ fetch, hostname, port }, () => resolve(server))
    server.once('error', reject)
  })
}

function explain(error: NodeJS.ErrnoException, host: string, port: number): ConfigError {
  const { code } = error
  if (code === 'EADDRINUSE') {
    return new ConfigError(`Port ${port} of ${host} is taken.`, {
      hint: 'Name another with --port, or leave it out to take the first that is free.',
      cause: error,
    })
  }
  if (code === 'ERR_SOCKET_BAD_PORT') {
    return new ConfigError(`${port} is no port.`, { hint: 'Name one below 65536 with --port.', cause: error })
  }
  if (code === 'EACCES') {
    return new ConfigError(`Port ${port} of ${host} may not be listened on.`, {
      hint: 'Name a port from 1024 on with --port.',
      cause: error,
    })
  }
  return new ConfigError(`${host} cannot be listened on: ${messageOf(error).replace(/\.$/, '')}.`, {
    hint: 'Name an address of this machine with --host, or leave it out.',
    cause: error,
  })
}

function close(server: ServerType): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    // Browsers hold connections open for the next request.
    if ('closeAllConnections' in server) server.closeAllConnections()
  })
}
