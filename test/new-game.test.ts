/** docs/new-game.md: the very code of the page is checked and played. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { projectRoot } from '../src/core/paths.js'
import { temporaryFolder } from './support/folders.js'

const page = readFileSync(join(projectRoot(), 'docs', 'new-game.md'), 'utf8')
const block = (language: string) => new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(page)![1]!

/** The page's files, in a folder where the package is installed. */
function files(): string {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'majority.mjs'), block('js'))
  writeFileSync(join(folder, 'majority.yaml'), block('yaml'))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(projectRoot(), join(folder, 'node_modules', 'sparring'))
  return folder
}

describe('docs/new-game.md', () => {
  it('builds a game in under 100 lines', () => {
    expect(block('js').split('\n').length).toBeLessThan(100)
  })

  it('passes the type checker', () => {
    const file = join(files(), 'majority.mjs')
    const program = ts.createProgram([file], {
      allowJs: true,
      checkJs: true,
      noEmit: true,
      strict: true,
      skipLibCheck: true,
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      types: [],
    })
    const faults = ts
      .getPreEmitDiagnostics(program)
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
    expect(faults).toEqual([])
  })

  it('plays it with the real engine, writes what every game writes, and resumes to the same numbers', () => {
    const folder = files()
    const cli = join(projectRoot(), 'dist', 'src', 'cli', 'main.js')
    const set = [
      'anchors.heldout.n=16',
      'settings.problems_per_round=6',
      'engine.threads=2',
      'checkpoint.every=1',
    ]
    const train = (...flags: string[]) => {
      const { status, stdout, stderr } = spawnSync(process.execPath, [cli, 'train', ...flags, '--json'], {
        cwd: folder,
        encoding: 'utf8',
      })
      expect(stderr).toBe('')
      expect(status).toBe(0)
      return stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    }
    const settings = set.flatMap((each) => ['--set', each])
    const events = train('majority.yaml', '--rounds', '3', '--run', 'whole', ...settings)
    expect(events.at(-1)).toMatchObject({ event: 'done', rounds: 3, heldout: { n: 16 } })

    train('majority.yaml', '--rounds', '2', '--run', 'parts', ...settings)
    train('--run', 'parts', '--resume', '--rounds', '3')
    const lines = (run: string) =>
      readFileSync(join(folder, run, 'metrics.jsonl'), 'utf8')
        .replace(/"time\/[^"]*":[^,}]*,?/g, '')
        .split('\n')
    expect(lines('parts')[3]).toBe(lines('whole')[3])
    expect(
      JSON.parse(readFileSync(join(folder, 'whole', 'metrics.jsonl'), 'utf8').split('\n')[1]!),
    ).toMatchObject({
      'solver/optim/steps': 1,
      'solver/len/truncated_frac': 0,
    })
  })
})
