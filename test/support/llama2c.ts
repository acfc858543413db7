/**
 * Turns a model of llama2.c (version 0 .bin and its tokenizer .bin) into a Hugging Face Llama folder, so that tests can
 * run a real model that somebody else trained.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TensorToWrite, writeSafetensors } from '../../src/engine/hf/safetensors.js'

interface Sizes {
  dim: number
  hidden: number
  layers: number
  heads: number
  kvHeads: number
  vocab: number
  sequence: number
  tied: boolean
}

/** Files in, folder out: config.json, model.safetensors, tokenizer.json, tokenizer_config.json. */
export async function convertLlama2c(
  modelPath: string,
  tokenizerPath: string,
  folder: string,
): Promise<void> {
  await mkdir(folder, { recursive: true })
  const bytes = await readFile(modelPath)
  const sizes = readSizes(bytes)
  await writeJson(join(folder, 'config.json'), modelConfig(sizes))
  await writeSafetensors(folder, tensors(bytes, sizes))
  const pieces = readPieces(await readFile(tokenizerPath), sizes.vocab)
  await writeJson(join(folder, 'tokenizer.json'), tokenizer(pieces))
  await writeJson(join(folder, 'tokenizer_config.json'), {
    bos_token: '<s>',
    eos_token: '</s>',
    unk_token: '<unk>',
  })
}

function writeJson(path: string, value: unknown): Promise<void> {
  return writeFile(path, JSON.stringify(value, null, 1))
}

/** Seven int32; a negative vocabulary size says that the output head has its own weights. */
function readSizes(bytes: Buffer): Sizes {
  const at = (i: number) => bytes.readInt32LE(4 * i)
  return {
    ...{ dim: at(0), hidden: at(1), layers: at(2), heads: at(3), kvHeads: at(4) },
    ...{ vocab: Math.abs(at(5)), sequence: at(6), tied: at(5) > 0 },
  }
}

function modelConfig(sizes: Sizes) {
  return {
    architectures: ['LlamaForCausalLM'],
    model_type: 'llama',
    vocab_size: sizes.vocab,
    hidden_size: sizes.dim,
    intermediate_size: sizes.hidden,
    num_hidden_layers: sizes.layers,
    num_attention_heads: sizes.heads,
    num_key_value_heads: sizes.kvHeads,
    max_position_embeddings: sizes.sequence,
    hidden_act: 'silu',
    rms_norm_eps: 1e-5,
    rope_theta: 10000,
    tie_word_embeddings: sizes.tied,
    bos_token_id: 1,
    eos_token_id: 2,
  }
}

/** The file lists each kind of weight for all layers, then the next kind. */
function tensors(
  bytes: Buffer,
  { dim, hidden, layers, heads, kvHeads, vocab, sequence, tied }: Sizes,
): TensorToWrite[] {
  let offset = 28
  const take = (count: number) => {
    const values = new Float32Array(new Uint8Array(bytes.subarray(offset, offset + 4 * count)).buffer)
    offset += 4 * count
    return values
  }
  const headDim = dim / heads
  const found: TensorToWrite[] = []
  const perLayer = (name: string, shape: number[], change = (values: Float32Array) => values) => {
    for (let layer = 0; layer < layers; layer++) {
      const data = change(take(shape.reduce((a, b) => a * b)))
      found.push({ name: `model.layers.${layer}.${name}.weight`, shape, data })
    }
  }
  found.push({ name: 'model.embed_tokens.weight', shape: [vocab, dim], data: take(vocab * dim) })
  perLayer('input_layernorm', [dim])
  perLayer('self_attn.q_proj', [dim, dim], (values) => splitHalves(values, headDim, dim))
  perLayer('self_attn.k_proj', [kvHeads * headDim, dim], (values) => splitHalves(values, headDim, dim))
  perLayer('self_attn.v_proj', [kvHeads * headDim, dim])
  perLayer('self_attn.o_proj', [dim, dim])
  perLayer('post_attention_layernorm', [dim])
  perLayer('mlp.gate_proj', [hidden, dim])
  perLayer('mlp.down_proj', [dim, hidden])
  perLayer('mlp.up_proj', [hidden, dim])
  found.push({ name: 'model.norm.weight', shape: [dim], data: take(dim) })
  take(sequence * headDim)
  if (!tied) found.push({ name: 'lm_head.weight', shape: [vocab, dim], data: take(vocab * dim) })
  return found
}

/**
 * llama2.c rotates neighbouring rows (2i, 2i+1) of a head together, Hugging Face rows i and i + headDim/2: within each
 * head, even rows go to the first half and odd rows to the second.
 */
function splitHalves(values: Float32Array, headDim: number, columns: number): Float32Array {
  const out = new Float32Array(values.length)
  for (let row = 0; row < values.length / columns; row++) {
    const head = Math.floor(row / headDim)
    const i = row % headDim
    const from = head * headDim + (i < headDim / 2 ? 2 * i : 2 * (i - headDim / 2) + 1)
    out.set(values.subarray(from * columns, (from + 1) * columns), row * columns)
  }
  return out
}

export interface Piece {
  text: string
  score: number
}

/** The longest length (int32), then for each piece its score (float32), length (int32) and UTF-8 bytes. */
export function readPieces(bytes: Buffer, count: number): Piece[] {
  const pieces: Piece[] = []
  for (let offset = 4; pieces.length < count; ) {
    const length = bytes.readInt32LE(offset + 4)
    const text = bytes.toString('utf8', offset + 8, offset + 8 + length)
    pieces.push({ text, score: bytes.readFloatLE(offset) })
    offset += 8 + length
  }
  return pieces
}

/**
 * llama2.c puts a space before the text, splits it into characters (bytes where a character has no piece), and joins
 * the neighbours whose union scores best until no union is a piece: byte-pair encoding whose merges are ranked by the
 * score of what they make.
 */
function tokenizer(pieces: Piece[]) {
  const vocab = Object.fromEntries(pieces.map(({ text }, id) => [['<unk>', '<s>', '</s>'][id] ?? text, id]))
  const merges = pieces
    .slice(3)
    .filter(({ text }) => !/^<0x[0-9A-F]{2}>$/.test(text))
    .sort((a, b) => b.score - a.score)
    .flatMap(({ text }) => {
      const characters = Array.from(text)
      const cuts = characters
        .slice(1)
        .map((_, i) => [characters.slice(0, i + 1).join(''), characters.slice(i + 1).join('')])
      return cuts.filter((parts) => parts.every((part) => Object.hasOwn(vocab, part)))
    })
  const added = ['<unk>', '<s>', '</s>'].map((content, id) => ({
    ...{ id, content, special: true, normalized: false },
    ...{ single_word: false, lstrip: false, rstrip: false },
  }))
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: added,
    normalizer: { type: 'Prepend', prepend: ' ' },
    pre_tokenizer: null,
    post_processor: null,
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        { type: 'Strip', content: ' ', start: 1, stop: 0 },
      ],
    },
    model: {
      ...{
        type: 'BPE',
        dropout: null,
        unk_token: '<unk>',
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
      },
      ...{ fuse_unk: true, byte_fallback: true, ignore_merges: false, vocab, merges },
    },
  }
}
