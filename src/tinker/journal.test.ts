/** A control plane that is killed goes on with its session, and applies nothing twice. */
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../test/support/folders.js'
import { adam, connected, datum, dialects, serve, spec } from '../../test/support/tinker-client.js'
import type { Dialect, TinkerServer } from '../../test/tinker-server/index.js'
import { randomStream } from '../core/random.js'
import type { Model, Service } from './client.js'
import { PromiseLost, SequenceConflict } from './errors.js'
import { Journal } from './journal.js'

const loss = { name: 'importance_sampling' } as const

/** A step, named by its round: the gradient and the step are sent together. */
function round(model: Model, r: number) {
  return Promise.all([
    model.forwardBackward([datum(r)], loss, { label: `${r} gradient` }),
    model.optimStep({ ...adam, learningRate: (r + 1) / 1000 }, { label: `${r} step` }),
  ])
}

/** Ends the process as a kill does: what the journal holds at this moment is all that is left. */
async function kill(service: Service, folder: string): Promise<void> {
  const file = join(folder, 'requests.jsonl')
  const left = readFileSync(file)
  await service.close()
  writeFileSync(file, left)
}

async function take(server: TinkerServer, folder: string) {
  const service = await connected(server, { journal: folder, patience: { giveUpMs: 4000 } })
  const resumed = await service.resume()
  return { service, resumed }
}

describe.each(dialects)('%s', (dialect) => {
  it('goes on with models, numbers and answers of an earlier process', async () => {
    const server = await serve({ dialect })
    const folder = temporaryFolder()
    const first = await connected(server, { journal: folder })
    const session = await first.createSession()
    const models = await Promise.all([
      session.createModel(spec, { label: 'first' }),
      session.createModel({ ...spec, seed: 2 }),
    ])
    const [trained] = await round(models[0]!, 0)
    const { path } = await models[0]!.saveWeights('at-0', { label: 'save' })
    await kill(first, folder)

    const { resumed } = await take(server, folder)
    expect(resumed!.session.id).toBe(session.id)
    expect(resumed!.models.map(({ id }) => id).sort()).toEqual(models.map(({ id }) => id).sort())
    const model = resumed!.models.find(({ id }) => id === models[0]!.id)!
    expect(model.spec).toEqual(spec)
    expect([...model.sentBefore].sort()).toEqual(['0 gradient', '0 step', 'save'])
    expect((await round(model, 0))[0].logprobs).toEqual(trained.logprobs)
    expect(await model.saveWeights('at-0', { label: 'save' })).toEqual({ path })
    expect(server.steps()).toBe(1)
    expect(model.sentBefore.size).toBe(0)
    await round(model, 1)
    expect(server.steps(model.id)).toBe(2)
    expect(model.label).toBe('first')
    const third = await resumed!.session.createModel(spec)
    expect(models.map(({ id }) => id)).not.toContain(third.id)
    await (await model.snapshot()).sample(Int32Array.of(1), { n: 1, maxTokens: 2, temperature: 1 })
    await third.unload()
  })

  it('never sends other contents under the name of what was sent', async () => {
    const server = await serve({ dialect })
    const folder = temporaryFolder()
    const first = await connected(server, { journal: folder })
    const model = await (await first.createSession()).createModel(spec)
    await round(model, 0)
    await kill(first, folder)
    const { resumed } = await take(server, folder)
    const other = resumed!.models[0]!.forwardBackward([datum(5)], loss, { label: '0 gradient' })
    await expect(other).rejects.toThrow(SequenceConflict)
    await expect(other).rejects.toThrow('was sent before with other contents')
    expect(server.steps()).toBe(1)
  })
})

it('is without effect where the session is over', async () => {
  const server = await serve({ dialect: 'hosted' })
  const folder = temporaryFolder()
  const first = await connected(server, { journal: folder })
  expect(await first.resume()).toBeUndefined()
  await (await first.createSession()).createModel(spec)
  await kill(first, folder)
  await server.restart({ state: 'lost' })
  expect((await take(server, folder)).resumed).toBeUndefined()
})

it('is of one server', async () => {
  const [one, two] = await Promise.all([serve({ dialect: 'hosted' }), serve({ dialect: 'hosted' })])
  const folder = temporaryFolder()
  const first = await connected(one, { journal: folder })
  await first.createSession()
  await first.close()
  const second = await connected(two, { journal: folder })
  await expect(second.resume()).rejects.toThrow(`The journal is of ${one.url}, and the server is ${two.url}.`)
})

describe('Journal', () => {
  const entry = { kind: 'optim_step', model: 'm', seq: 1, label: 'a', digest: 'd' }

  it('reads back what was written, without a last line that was cut off', async () => {
    const folder = temporaryFolder()
    const journal = await Journal.open(folder)
    expect(journal.past).toBeUndefined()
    await journal.session('s', 'http://x')
    const id = await journal.send(entry)
    await journal.accepted(id, 'r1')
    await journal.settled(id, 'done', { a: 1 })
    await journal.send({ ...entry, seq: 2 })
    await journal.close()
    const file = join(folder, 'requests.jsonl')
    const { size } = { size: readFileSync(file).length }
    truncateSync(file, size - 5)
    const again = await Journal.open(folder)
    expect(again.past).toEqual({
      session: 's',
      url: 'http://x',
      resumes: 0,
      models: 0,
      requests: [{ ...entry, spec: undefined, request: 'r1', outcome: 'done', result: { a: 1 } }],
    })
    expect(await again.send({ ...entry, seq: 2 })).toBe(1)
    await again.close()
    expect((await Journal.open(folder)).past!.requests).toHaveLength(2)
  })

  it('says where it is no journal', async () => {
    const folder = temporaryFolder()
    writeFileSync(
      join(folder, 'requests.jsonl'),
      '{"event":"session","session":"s","url":"u"}\n{"event":"nothing"}\n',
    )
    await expect(Journal.open(folder)).rejects.toThrow(/requests\.jsonl:2 is no line of a journal\.$/)
  })
})

/**
 * Kills of client and server at random points: a run of rounds that ends, or stops with an error that says so; the
 * server counts the steps it really took.
 */
describe.each(dialects)('kills at random points: %s', (dialect) => {
  it('applies no step twice', async () => {
    const points = Number(process.env.KILL_POINTS ?? 6)
    for (let point = 0; point < points; point++) await oneRun(dialect, point)
  })
})

async function oneRun(dialect: Dialect, point: number): Promise<void> {
  const random = randomStream(point, 'kills', dialect)
  const server = await serve({ dialect, holdMs: 100, scripted: { forwardMs: 2, stepMs: 2 } })
  const folder = temporaryFolder()
  const service = await connected(server, { journal: folder })
  const model = await (await service.createSession()).createModel(spec)
  const rounds = 4
  let lives = { service, model }
  for (let killed = 0; killed < 3; killed++) {
    const requests = random.int(12)
    let seen = 0
    const reached = new Promise<void>((resolve) => {
      server.log.onRequest = () => {
        if (++seen > requests) resolve()
      }
    })
    const work = (async () => {
      for (let r = 0; r < rounds; r++) await round(lives.model, r)
    })()
    const outcome = await Promise.race([work.catch((error) => error), reached.then(() => 'kill' as const)])
    if (outcome !== 'kill') {
      server.log.onRequest = undefined
      expectOnce(server, dialect, point, rounds, outcome)
      return
    }
    if (random.uniform() < 0.5) {
      server.kill()
      if (random.uniform() < 0.5) await kill(lives.service, folder)
      await server.restart()
    } else await kill(lives.service, folder)
    work.catch(() => {})
    await lives.service.close()
    const { service: next, resumed } = await take(server, folder)
    lives = { service: next, model: resumed!.models[0]! }
  }
  server.log.onRequest = undefined
  let failure: unknown
  for (let r = 0; r < rounds && failure === undefined; r++)
    await round(lives.model, r).catch((error) => {
      failure = error
    })
  expectOnce(server, dialect, point, rounds, failure)
}

function expectOnce(
  server: TinkerServer,
  dialect: Dialect,
  point: number,
  rounds: number,
  failure: unknown,
): void {
  const rates = server.applied.map(({ learningRate }) => learningRate)
  expect(new Set(rates).size, `point ${point}: ${rates}`).toBe(rates.length)
  expect(rates).toEqual([...rates].sort())
  if (failure === undefined) expect(rates).toHaveLength(rounds)
  else {
    // Hosted and SkyRL keep answers by number; the others lose them with the process that asked.
    expect(failure, String(failure)).toBeInstanceOf(PromiseLost)
    expect(dialect, String(failure)).toMatch(/tuft|openrl/)
  }
}
