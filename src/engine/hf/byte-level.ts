/**
 * Byte-level vocabularies (GPT-2 and all that followed) spell every byte as one printable character: printable bytes
 * as themselves, the others, in order, as the characters from U+0100 on.
 */
function byteAlphabet(): Map<string, number> {
  const isPrintable = (byte: number) =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae
  let next = 0x100
  const alphabet = new Map<string, number>()
  for (let byte = 0; byte < 256; byte++) {
    alphabet.set(String.fromCharCode(isPrintable(byte) ? byte : next++), byte)
  }
  return alphabet
}

/**
 * Decoder of a byte-level vocabulary. The bytes of all tokens lie in one array, so that decoding is copying: several
 * million tokens a second, and no cost beyond its length for a short tail.
 *
 * `literal` tokens, those added to the vocabulary, stand for their own text. Ids without a token decode to nothing.
 */
export function byteLevelDecoder(
  vocabulary: readonly (string | undefined)[],
  literal: ReadonlySet<string>,
): (ids: readonly number[]) => string {
  const alphabet = byteAlphabet()
  const encoder = new TextEncoder()
  const spelled = vocabulary.map((token = '') => {
    const bytes = literal.has(token) ? [] : Array.from(token, (character) => alphabet.get(character))
    return literal.has(token) || bytes.includes(undefined) ? encoder.encode(token) : (bytes as number[])
  })
  const starts = new Uint32Array(spelled.length + 1)
  for (const [id, bytes] of spelled.entries()) starts[id + 1] = starts[id]! + bytes.length
  const all = new Uint8Array(starts.at(-1)!)
  for (const [id, bytes] of spelled.entries()) all.set(bytes, starts[id])

  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  return (ids) => {
    const text = new Uint8Array(ids.reduce((length, id) => length + starts[id + 1]! - starts[id]!, 0))
    let at = 0
    for (const id of ids) {
      for (let i = starts[id]!; i < starts[id + 1]!; i++) text[at++] = all[i]!
    }
    return decoder.decode(text)
  }
}
