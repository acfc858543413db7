import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { temporaryFolder } from '../../test/support/folders.js'
import { ConfigError } from '../core/errors.js'
import { reportFailure } from './failure.js'

afterEach(() => vi.restoreAllMocks())

/** Status, and the event that says what failed. */
function told(error: unknown): object {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  const status = reportFailure(error, { json: true, debug: false })
  return { status, ...JSON.parse(String(write.mock.calls.at(-1)![0])) }
}

const thrownBy = (work: () => unknown) =>
  Promise.resolve()
    .then(work)
    .then(
      () => undefined,
      (error: unknown) => error,
    )

describe('a failure', () => {
  it('in the module of a user is told with its file and line, also where ours throws beneath it', async () => {
    const file = join(temporaryFolder(), 'my game.mjs')
    writeFileSync(
      file,
      'export const direct = () => {\n  null.x\n}\nexport const beneath = async (ours) => {\n  await ours()\n}\n',
    )
    const { direct, beneath } = await import(pathToFileURL(file).href)
    expect(told(await thrownBy(direct))).toMatchObject({
      status: 1,
      code: 'module',
      message: expect.stringMatching(/my game\.mjs:2: Cannot read properties of null/),
    })
    const ours = async () => {
      await Promise.resolve()
      throw new TypeError('no such thing')
    }
    expect(told(await thrownBy(() => beneath(ours)))).toMatchObject({
      code: 'module',
      message: expect.stringMatching(/my game\.mjs:5: no such thing/),
    })
  })

  it('of our own code is ours, and one that was foreseen keeps its class', async () => {
    expect(told(new TypeError('odd'))).toMatchObject({ status: 1, code: 'invariant', message: 'odd' })
    expect(told(await thrownBy(() => JSON.parse('{')))).toMatchObject({ code: 'invariant' })
    expect(told(new ConfigError('Wrong.'))).toMatchObject({ status: 2, code: 'config' })
  })
})
