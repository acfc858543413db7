/** A control plane that is killed goes on with its session, and applies nothing twice. */
import { existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../test/support/folders.js'
import { adam, connected, datum, dialects, serve, spec } from '../../test/support/tinker-client.js'
import type { Dialect, TinkerServer } from '../../test/tinker-server/index.js'
import { randomStream } from '../core/random.js'
import type { Model, Service } from './client.js'
import { PromiseLost, SequenceConflict } from './errors.js'
import { Journal } from './journal.js'
import { JournalState, type Line } from './journal-state.js'

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

const entry = { kind: 'optim_step', model: 'm', seq: 1, label: 'a', digest: 'd' }

describe('Journal', () => {
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
    const third = await Journal.open(folder)
    expect(third.past!.requests).toHaveLength(2)
    await third.close()
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

/** What a process that takes a session up needs of it: each model's next number, and what can be asked for again. */
function essence(state: JournalState) {
  const { requests = [], ...session } = state.past ?? {}
  const models: Record<string, { expected: number; arrival: number }> = {}
  for (const { model, seq, outcome, request } of requests) {
    if (model === undefined || !(outcome || request)) continue
    models[model] ??= { expected: 1, arrival: 1 }
    const next = models[model]
    next.arrival = Math.max(next.arrival, seq + 1)
    if (outcome !== 'failed') next.expected = Math.max(next.expected, seq + 1)
  }
  const wanted = requests.filter(
    ({ kind, label, outcome }) => label !== undefined || outcome === undefined || kind === 'create_model',
  )
  return {
    session,
    models,
    wanted: wanted.filter(({ kind, outcome }) => kind !== 'create_model' || outcome !== 'failed'),
  }
}

describe('a journal that has grown', () => {
  const id = fc.integer({ min: 0, max: 30 })
  const model = fc.constantFrom('a', 'b')
  const event: fc.Arbitrary<Line> = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        event: fc.constant('send' as const),
        id,
        kind: fc.constant('optim_step'),
        model,
        seq: fc.integer({ min: 1, max: 40 }),
        digest: fc.constant('d'),
        label: fc.option(fc.constantFrom('x', 'y'), { nil: undefined }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        event: fc.constant('send' as const),
        id,
        kind: fc.constant('create_model'),
        seq: fc.integer({ min: 0, max: 3 }),
        digest: fc.constant(''),
        spec: fc.constant(spec),
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({ event: fc.constant('accepted' as const), id, request: fc.constant('r') }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        event: fc.constant('settled' as const),
        id,
        outcome: fc.constantFrom('done' as const, 'failed' as const),
        result: fc.option(model, { nil: undefined }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ event: fc.constantFrom('unloaded' as const, 'forgotten' as const), model }),
    },
    { weight: 1, arbitrary: fc.constant({ event: 'resumed' as const }) },
  )
  const session = { event: 'session' as const, session: 's', url: 'u' }
  const stateOf = (lines: Line[]) => {
    const state = new JournalState()
    for (const line of lines) state.apply(line)
    return state
  }

  /** Ids in the order of sending. */
  const numbered = (lines: Line[], from: number) => {
    let next = from
    return lines.map((line) => (line.event === 'send' ? { ...line, id: next++ } : line))
  }

  it('says the same once it was written anew, and whatever follows', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), fc.array(event, { maxLength: 30 }), (before, after) => {
        const begun = [session, ...numbered(before, 0)]
        const [whole, reduced] = [stateOf(begun), stateOf(begun)]
        reduced.reduce()
        const anew = stateOf(reduced.lines())
        expect(essence(anew)).toEqual(essence(whole))
        expect(anew.nextId).toBe(whole.nextId)
        // What is settled is not settled again, and ids are not used twice.
        const open = new Set(whole.lines().flatMap((line) => (line.event === 'settled' ? [line.id] : [])))
        const rest = numbered(after, whole.nextId).filter(
          (line) => !('id' in line) || line.event === 'send' || !open.has(line.id),
        )
        for (const line of rest) for (const state of [whole, anew]) state.apply(line)
        expect(essence(anew)).toEqual(essence(whole))
      }),
    )
  })

  it('stays small over thousands of requests, and goes on from any kill while it is written anew', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'requests.jsonl')
    const journal = await Journal.open(folder)
    await journal.session('s', 'http://x')
    const creation = await journal.send({ kind: 'create_model', seq: 0, digest: '', spec })
    await journal.settled(creation, 'done', 'm')
    const kept = await journal.send({ ...entry, seq: 1, label: 'kept' })
    await journal.accepted(kept, 'r')
    let largest = 0
    for (let seq = 2; seq < 5000; seq += 500) {
      const { label: _, ...unnamed } = entry
      await Promise.all(
        Array.from({ length: 500 }, async (_, i) => {
          const id = await journal.send({ ...unnamed, seq: seq + i })
          await journal.accepted(id, `request-${seq + i}`)
          await journal.settled(id, 'done', { 'optimizer:grad_norm': 1 })
        }),
      )
      largest = Math.max(largest, statSync(file).size)
    }
    expect(largest).toBeLessThan(700_000)
    const last = await journal.send({ ...entry, seq: 5002, label: 'last' })
    const bytes = readFileSync(file)
    await journal.close()
    expect(existsSync(`${file}.new`)).toBe(false)
    for (const [size, beside] of [
      [bytes.length, ''],
      [bytes.length, '{"event":"sess'],
      [bytes.length - 7, bytes.toString()],
    ] as const) {
      writeFileSync(file, bytes.subarray(0, size))
      if (beside !== '') writeFileSync(`${file}.new`, beside)
      const again = await Journal.open(folder)
      expect(existsSync(`${file}.new`)).toBe(false)
      const { requests, models } = again.past!
      expect(models).toBe(1)
      expect(requests.filter(({ label }) => label).map(({ label }) => label)).toEqual(
        size === bytes.length ? ['kept', 'last'] : ['kept'],
      )
      expect(Math.max(...requests.map(({ seq, outcome }) => (outcome ? seq : 0)))).toBe(5001)
      await again.close()
    }
    expect(last).toBe(5002)
  })

  it('lets go of labels when told that they are not asked for again', async () => {
    const server = await serve({ dialect: 'hosted' })
    const folder = temporaryFolder()
    const first = await connected(server, { journal: folder })
    const model = await (await first.createSession()).createModel(spec)
    await round(model, 0)
    await model.forget()
    await round(model, 1)
    await kill(first, folder)
    const { resumed } = await take(server, folder)
    const again = resumed!.models[0]!
    expect([...again.sentBefore].sort()).toEqual(['1 gradient', '1 step'])
    await round(again, 1)
    expect(server.steps()).toBe(2)
    await round(again, 2)
    expect(server.steps()).toBe(3)
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
