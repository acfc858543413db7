/**
 * A server from the shell: `node dist/test/tinker-server/main.js --dialect hosted --port 8000 --model tiny=models/tiny`.
 * Prints its address on one line when it is ready. With --log, each request becomes a line of that file; with
 * --scripted '{"sampleMs":50}' its weights are made up and only take their time.
 */
import { appendFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { profiles } from './dialects.js'
import { type Dialect, startTinkerServer } from './index.js'

const { values } = parseArgs({
  options: {
    dialect: { type: 'string', default: 'hosted' },
    port: { type: 'string', default: '0' },
    model: { type: 'string', multiple: true, default: [] },
    key: { type: 'string', multiple: true, default: ['tml-test'] },
    hold: { type: 'string' },
    threads: { type: 'string', default: '2' },
    log: { type: 'string' },
    latency: { type: 'string', default: '0' },
    scripted: { type: 'string' },
  },
})

const { dialect, log } = values
if (!(dialect in profiles)) {
  console.error(`There is no dialect "${dialect}"; choose from ${Object.keys(profiles).join(', ')}.`)
  process.exit(2)
}
const named = values.model.map((given): [string, string] => {
  const at = given.indexOf('=')
  return at < 0 ? [given, given] : [given.slice(0, at), given.slice(at + 1)]
})
if (named.length === 0) {
  console.error('No model is given: --model NAME=FOLDER.')
  process.exit(2)
}

const server = await startTinkerServer({
  dialect: dialect as Dialect,
  models: Object.fromEntries(named),
  port: Number(values.port),
  keys: values.key,
  threads: Number(values.threads),
  latencyMs: Number(values.latency),
  // The official SDK does not start without a client configuration, which older servers of Open-RL lack.
  flags: {},
  ...(values.scripted !== undefined && { scripted: JSON.parse(values.scripted) }),
  ...(values.hold !== undefined && { holdMs: Number(values.hold) }),
})
if (log !== undefined)
  server.log.onRequest = ({ raw, at, method, path, headers }) =>
    appendFileSync(log, `${JSON.stringify({ at, method, path, headers, base64: raw.toString('base64') })}\n`)
console.log(server.url)
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void server.close().then(() => process.exit(0)))
