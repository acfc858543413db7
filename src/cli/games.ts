/** sparring games: what can be played. */
import { gameNames, loadGame } from '../games/index.js'

export async function games({ json }: { json?: boolean }): Promise<void> {
  for (const game of await Promise.all(gameNames.map(loadGame))) {
    const { name, roles, summary } = game
    const line = json
      ? JSON.stringify({ event: 'game', name, roles, summary })
      : `${name} (${roles.join(', ')})\n  ${summary}`
    process.stdout.write(`${line}\n`)
  }
}
