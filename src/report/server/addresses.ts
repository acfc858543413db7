/** Addresses at which the page of a server can be opened. */
import { networkInterfaces } from 'node:os'
import { isLoopback } from './guard.js'

/**
 * Those first that work from elsewhere: names that were let in, then the machine's own addresses where the server listens on
 * all of them.
 */
export function addressesOf(host: string, names: readonly string[], port: number): string[] {
  const isEvery = host === '0.0.0.0' || host === '::'
  const own = isEvery ? [...networkAddresses(host === '::'), 'localhost'] : [host]
  // Behind a tunnel or a proxy a name leads here too, but by a port of theirs.
  const named = isLoopback(host) ? [] : names
  return [...named, ...own].map((name) => `http://${name.includes(':') ? `[${name}]` : name}:${port}/`)
}

/** Addresses of this machine in its networks; IPv6 ones that hold for one link alone are left out. */
function networkAddresses(isSix: boolean): string[] {
  return Object.values(networkInterfaces())
    .flatMap((own) => own ?? [])
    .filter(({ internal, family, address }) => {
      return !internal && (family === 'IPv4' || (isSix && !address.startsWith('fe80:')))
    })
    .map(({ address }) => address)
}
