import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { projectRoot } from '../../src/core/paths.js'
import { readModelConfig } from '../../src/engine/hf/config.js'
import { checkParameters } from '../../src/engine/hf/parameters.js'
import { openSafetensors } from '../../src/engine/hf/safetensors.js'
import { loadTokenizer } from '../../src/engine/hf/tokenizer.js'
import { temporaryFolder } from './folders.js'
import { convertLlama2c, type Piece, readPieces } from './llama2c.js'

const shared = join(projectRoot(), '..', 'shared', 'models', 'llama2c-stories260K')
const modelPath = join(shared, 'stories260K.bin')
const piecesPath = join(shared, 'tok512.bin')

/** How llama2.c encodes: characters or bytes first, then the best-scoring neighbours are joined, the leftmost of equals. */
function encodeByScores(pieces: Piece[], text: string): number[] {
  const idOf = new Map(pieces.map(({ text }, id) => [text, id]))
  const ids = Array.from(text === '' ? '' : ` ${text}`).flatMap((character) => {
    const id = idOf.get(character)
    return id === undefined ? [...Buffer.from(character)].map((byte) => byte + 3) : [id]
  })
  for (;;) {
    let best = { at: -1, id: -1, score: Number.NEGATIVE_INFINITY }
    for (let at = 0; at + 1 < ids.length; at++) {
      const id = idOf.get(pieces[ids[at]!]!.text + pieces[ids[at + 1]!]!.text)
      if (id !== undefined && pieces[id]!.score > best.score) best = { at, id, score: pieces[id]!.score }
    }
    if (best.at < 0) return ids
    ids.splice(best.at, 2, best.id)
  }
}

describe.skipIf(!existsSync(modelPath))(`convertLlama2c (needs ${shared})`, () => {
  async function converted() {
    const folder = temporaryFolder()
    await convertLlama2c(modelPath, piecesPath, folder)
    return folder
  }

  it('makes a Llama folder of the right sizes that uses every weight of the file', async () => {
    const folder = await converted()
    const config = await readModelConfig(folder)
    expect(config).toMatchObject({
      ...{
        architecture: 'llama',
        vocabSize: 512,
        hiddenSize: 64,
        intermediateSize: 172,
        layers: 5,
        heads: 8,
      },
      ...{
        kvHeads: 4,
        headDim: 8,
        normEpsilon: 1e-5,
        maxPosition: 512,
        tiedEmbeddings: true,
        eosIds: [2],
        bosId: 1,
      },
    })
    const file = await openSafetensors(folder)
    checkParameters(config, file)
    const values = file.names().reduce((sum, name) => sum + file.shape(name).reduce((a, b) => a * b), 0)
    const rotary = config.maxPosition * config.headDim
    expect(28 + 4 * (values + rotary)).toBe(readFileSync(modelPath).length)

    const norm = await file.read('model.norm.weight')
    expect(norm.every((value) => value > 0)).toBe(true)
    await file.close()
  })

  it('orders the rows of a head as even ones, then odd ones', async () => {
    const folder = await converted()
    const file = await openSafetensors(folder)
    const rows = await file.read('model.layers.0.self_attn.q_proj.weight')
    await file.close()
    const raw = new Float32Array(new Uint8Array(readFileSync(modelPath)).buffer, 28)
    const start = 512 * 64 + 5 * 64
    const original = (row: number) => raw.subarray(start + row * 64, start + (row + 1) * 64)
    for (const [row, from] of [0, 2, 4, 6, 1, 3, 5, 7, 8, 10].entries()) {
      expect(rows.subarray(row * 64, (row + 1) * 64)).toEqual(original(from))
    }
  })

  it('encodes and decodes as llama2.c does', async () => {
    const folder = await converted()
    const tokenizer = await loadTokenizer(folder, await readModelConfig(folder))
    const pieces = readPieces(readFileSync(piecesPath), 512)
    const story = 'Once upon a time, there was a little girl named Lily. She loved to play'
    const ids = [
      403, 407, 261, 378, 432, 383, 286, 261, 376, 298, 315, 421, 395, 317, 426, 338, 401, 396, 267, 337,
    ]
    expect([...tokenizer.encode(story)]).toEqual(ids)
    expect(tokenizer.decode([1, ...ids, 2])).toBe(story)
    const words = fc.constantFrom(
      'the ',
      'tiny',
      ' and',
      'Lily',
      '\n',
      '  ',
      '“',
      'é',
      '漢',
      '😀',
      'ababab',
      '<0x41>',
    )
    const text = fc.string({ unit: fc.oneof(words, fc.string({ unit: 'grapheme-ascii', maxLength: 9 })) })
    fc.assert(
      fc.property(text, (text) => {
        fc.pre(!/<unk>|<\/?s>/.test(text))
        expect([...tokenizer.encode(text)]).toEqual(encodeByScores(pieces, text))
        if (!text.includes('<0x')) expect(tokenizer.decode(tokenizer.encode(text))).toBe(text)
      }),
      { numRuns: 300 },
    )
  })
})
