/** A proxy that leads every tunnel to one place, or hangs up where there is none. */
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export interface ProxyServer {
  url: string
  /** Hosts that tunnels were asked for. */
  tunnels: string[]
}

export async function proxyServer(to?: string): Promise<ProxyServer> {
  const tunnels: string[] = []
  const server = createServer().on('connect', ({ url }, socket: Socket) => {
    tunnels.push(url!)
    if (to === undefined) return socket.destroy()
    const tunnel = connect(Number(new URL(to).port), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      socket.pipe(tunnel).pipe(socket)
    })
    for (const end of [socket, tunnel]) end.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, tunnels }
}
