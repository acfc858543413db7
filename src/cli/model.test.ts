import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sparring } from '../../test/support/command.js'
import { temporaryFolder } from '../../test/support/folders.js'
import { projectRoot } from '../core/paths.js'

const tiny = join(projectRoot(), 'models/tiny')
const events = (stdout: string) =>
  stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

describe('a model on the command line', () => {
  it('is trained, measured, exported and asked', async () => {
    const cwd = temporaryFolder()
    const small = [
      'settings.batch_size=8',
      'settings.validation_share=0',
      'anchors.heldout.n=16',
      'roles.student.lora.rank=2',
    ]
    const set = small.flatMap((text) => ['--set', text])
    const trained = await sparring(['train', 'sft-tiny', '--run', 'a', '--rounds', '1', '--json', ...set], {
      cwd,
    })
    expect(trained.stderr).toBe('')
    expect(events(trained.stdout).at(-1)).toMatchObject({
      event: 'done',
      run: 'a',
      rounds: 1,
      heldout: { n: 16 },
    })

    const measured = await sparring(
      ['eval', 'arithmetic', '--model', 'a', '--limit', '16', '--json', '--temperature', '0'],
      { cwd },
    )
    const [reading, done] = events(measured.stdout)
    expect(reading).toMatchObject({
      event: 'eval',
      benchmark: 'arithmetic',
      sampling: 'greedy',
      n: 16,
      samples: 1,
    })
    expect(done).toMatchObject({ event: 'done', model: 'a/checkpoints/000001/student' })

    expect((await sparring(['export', 'a', '--out', 'out'], { cwd })).status).toBe(0)
    expect(readdirSync(join(cwd, 'out'))).toEqual(
      expect.arrayContaining(['adapter_config.json', 'adapter_model.safetensors']),
    )
    const again = await sparring(['export', 'a', '--out', 'out'], { cwd })
    expect(again).toMatchObject({ status: 2, stderr: expect.stringContaining('out is not empty.') })

    const ask = ['--prompt', '2+3', '--temperature', '0', '--max-tokens', '40', '--json']
    const [fromRun, fromExport] = await Promise.all(
      ['a', 'out'].map(async (model) =>
        events((await sparring(['sample', '--model', model, ...ask], { cwd })).stdout),
      ),
    )
    expect(fromExport).toEqual(fromRun)
    expect(fromRun![0]).toMatchObject({ event: 'sample', index: 0, stop: 'eos' })
  })

  it('solves most of its world, and problems of a file', async () => {
    const cwd = temporaryFolder()
    writeFileSync(
      join(cwd, 'mine.jsonl'),
      '{"problem": "2+3", "answer": "5"}\n{"problem": "2+3", "answer": 6}\n',
    )
    const args = [
      'eval',
      'arithmetic',
      'mine.jsonl',
      '--model',
      tiny,
      '--limit',
      '64',
      '--temperature',
      '0',
      '--json',
    ]
    const { status, stdout } = await sparring(args, { cwd })
    expect(status).toBe(0)
    const [arithmetic, mine] = events(stdout)
    expect(arithmetic.accuracy).toBeGreaterThan(0.5)
    expect(mine).toMatchObject({ benchmark: 'mine.jsonl', n: 2, accuracy: 0.5 })
  })

  it('needs a run where a role is named', async () => {
    const { status, stderr } = await sparring([
      'sample',
      '--model',
      tiny,
      '--prompt',
      'x',
      '--role',
      'solver',
    ])
    expect(status).toBe(2)
    expect(stderr).toContain('--role solver needs a run')
  })

  it('needs a token to go on from', async () => {
    const { status, stderr } = await sparring(['sample', '--model', tiny, '--raw', '--prompt', ''])
    expect(status).toBe(2)
    expect(stderr).toContain('There is no token in the prompt')
  })

  it('is refused where its weights are not finite', async () => {
    const model = join(temporaryFolder(), 'broken')
    cpSync(tiny, model, { recursive: true })
    const path = join(model, 'model.safetensors')
    const bytes = readFileSync(path)
    bytes.fill(0xff, bytes.length - 2)
    writeFileSync(path, bytes)
    const { status, stderr } = await sparring(['sample', '--model', model, '--prompt', '2+3'])
    expect(status).toBe(2)
    expect(stderr).toMatch(/"\S+" in \S+broken holds weights that are not finite/)
  })

  it('is refused more threads than the machine can use', async () => {
    const { status, stderr } = await sparring([
      ...['sample', '--model', tiny, '--prompt', '2+3', '--threads', '100000'],
    ])
    expect(status).toBe(2)
    expect(stderr).toContain('cannot have 100000 threads')
  })

  it('takes a long prompt on standard input only, where the library reads the command line', async () => {
    const ask = ['sample', '--model', tiny, '--temperature', '0', '--max-tokens', '1', '--json', '--prompt']
    const prompt = '7'.repeat(9000)
    if (process.platform === 'linux') {
      const { status, stdout } = await sparring([...ask, prompt])
      expect(status).toBe(2)
      expect(events(stdout)[0].message).toMatch(/The command line is \d+ bytes long/)
    }
    const answered = await sparring([...ask, '-'], { input: prompt })
    expect(answered.status).toBe(0)
    expect(events(answered.stdout)[0]).toMatchObject({ event: 'sample', tokens: 1 })
  })

  it('is exported to a folder only', async () => {
    const cwd = temporaryFolder()
    writeFileSync(join(cwd, 'file'), '')
    for (const out of ['file', 'file/within']) {
      const { status, stderr } = await sparring(['export', 'nowhere', '--out', out], { cwd })
      expect(status).toBe(2)
      expect(stderr).toContain(`${out} cannot be written as a folder`)
    }
  })

  it('is measured on benchmarks that exist', async () => {
    const { status, stderr } = await sparring(['eval', 'arithmtic', '--model', tiny])
    expect(status).toBe(2)
    expect(stderr).toContain('Did you mean arithmetic?')
  })
})
