import { readdirSync, writeFileSync } from 'node:fs'
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
})
