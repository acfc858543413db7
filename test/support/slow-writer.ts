/**
 * Writes what a run wrote behind its config.json anew, in the order in which a run writes and in pieces of a few hundred bytes, so that whoever looks finds
 * half records most of the time: `slow-writer.js FROM TO`.
 */
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { folderName } from '../../src/runs/checkpoint.js'

const [from = '', to = ''] = process.argv.slice(2)
const linesOf = (file: string) => readFileSync(join(from, file), 'utf8').split(/(?<=\n)/)

async function write(file: string, text: string, piece: number): Promise<void> {
  for (let at = 0; at < text.length; at += piece) {
    appendFileSync(join(to, file), text.slice(at, at + piece))
    await sleep(0)
  }
}

const journal = linesOf('journal.jsonl')
for (const [round, line] of linesOf('metrics.jsonl').entries()) {
  const folder = join('rollouts', `round-${folderName(round)}`)
  mkdirSync(join(to, folder), { recursive: true })
  for (const role of round === 0 ? [] : ['proposer', 'solver']) {
    const file = join(folder, `${role}.jsonl`)
    await write(file, readFileSync(join(from, file), 'utf8'), 20_000)
  }
  await write('metrics.jsonl', line, 300)
  while (journal[0]?.includes(`"round":${round},`)) await write('journal.jsonl', journal.shift()!, 30)
}
