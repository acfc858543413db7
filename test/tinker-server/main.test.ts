import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'

const main = fileURLToPath(new URL('./main.js', import.meta.url))

it('starts from the shell, says where it is, writes down what it is asked, and ends when it is told to', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sparring-tinker-main-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const log = join(folder, 'log.jsonl')
  const child = spawn(process.execPath, [
    main,
    '--dialect',
    'tuft',
    '--model',
    'a=x',
    '--scripted',
    '{}',
    '--log',
    log,
  ])
  onTestFinished(() => void child.kill('SIGKILL'))
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string]
  const response = await fetch(`${url}/api/v1/client/config`, {
    method: 'POST',
    body: '{"sdk_version":"0.25.0"}',
    headers: { 'content-type': 'application/json', 'x-api-key': 'tml-test' },
  })
  expect(await response.json()).toMatchObject({ parallel_fwdbwd_chunks: false })
  const [line] = readFileSync(log, 'utf8').split('\n')
  const { method, path, base64 } = JSON.parse(line!)
  expect([method, path]).toEqual(['POST', '/api/v1/client/config'])
  expect(Buffer.from(base64, 'base64').toString()).toBe('{"sdk_version":"0.25.0"}')
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
})

it.each([
  [['--dialect', 'other', '--model', 'a=x'], 'There is no dialect "other"'],
  [['--dialect', 'tuft'], 'No model is given'],
])('says what is wrong with %j', async (args, said) => {
  const child = spawn(process.execPath, [main, ...args])
  let errors = ''
  child.stderr.on('data', (text) => {
    errors += text
  })
  expect((await once(child, 'close'))[0]).toBe(2)
  expect(errors).toContain(said)
})
