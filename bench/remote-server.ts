/**
 * The in-repository Tinker server with made-up weights, as a process of its own: it takes its time and says what plays
 * PasoDoble on the starter model. Its options come in the first message; any further one asks how it stands.
 */
import { join } from 'node:path'
import { projectRoot } from '../src/core/paths.js'
import { openTokenizer } from '../src/engine/tinker/base.js'
import { startTinkerServer, type TinkerServer } from '../test/tinker-server/index.js'

export interface ServerOptions {
  latencyMs: number
  sampleMs: number
  forwardMs: number
  stepMs: number
}

export interface Standing {
  url: string
  busyMs: number
  steps: number
}

const folder = join(projectRoot(), 'models', 'tiny')
const tokenizer = await openTokenizer(folder, {})
const end = tokenizer.eosIds[0]!

/** Every other answer of a question is right; whoever is not asked a product sets one, each time another. */
let asked = 0
function says(prompt: Int32Array, index: number): Int32Array {
  const [, a, b] = /(\d+)\*(\d+)[^*]*$/.exec(tokenizer.decode(prompt)) ?? []
  let text: string
  if (a !== undefined) text = product(Number(a), Number(b), index % 2)
  else {
    const [x, y] = [2 + (asked % 90), 3 + ((asked * 7) % 90)]
    asked++
    text = `</think>\n<problem>${x}*${y}</problem>\n<answer>${product(x, y, 0)}</answer>`
  }
  return Int32Array.from([...tokenizer.encode(text), end])
}

const product = (a: number, b: number, off: number) => `${a}*${b}=${a * b + off} \\boxed{${a * b + off}}`

let server: TinkerServer | undefined
process.on('message', async (options: ServerOptions | 'standing') => {
  if (options !== 'standing') {
    const { latencyMs, ...times } = options
    server = await startTinkerServer({
      dialect: 'hosted',
      models: { tiny: folder },
      latencyMs,
      scripted: { ...times, says },
      logLimit: 100,
    })
  }
  const { url, busyMs } = server!
  process.send!({ url, busyMs, steps: server!.steps() } satisfies Standing)
})
process.on('disconnect', () => void server?.close().then(() => process.exit(0)))
