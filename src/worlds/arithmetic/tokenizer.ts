/**
 * Tokenizer of the starter model: one id a character over newline and printable ASCII, one id a tag. Written in the
 * Hugging Face form as BPE without merges, which every loader splits into characters.
 */
import { tags } from './format.js'

export const specialTokens = {
  pad: '<|pad|>',
  start: '<|im_start|>',
  /** Ends a turn and a completion. */
  end: '<|im_end|>',
  /** Stands for every character outside the vocabulary. */
  unknown: '<unk>',
} as const

/** Single ids that decode as text and are kept where special tokens are left out. */
const tagTokens = [
  tags.thinkOpen,
  tags.thinkClose,
  tags.problemOpen,
  tags.problemClose,
  tags.answerOpen,
  tags.answerClose,
  tags.boxOpen,
  // Names of the chat's roles, which every prompt spells out.
  'system',
  'user',
  'assistant',
]

const characters = ['\n', ...Array.from({ length: 0x7f - 0x20 }, (_, i) => String.fromCharCode(0x20 + i))]

const chatTemplate =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"

/** Rows of the embedding are a multiple of this; the last ones have no token. */
const ROW_MULTIPLE = 16

export interface TokenizerFiles {
  /** Content of tokenizer.json. */
  tokenizer: object
  /** Content of tokenizer_config.json, chat template included. */
  config: object
  /** Ids by token. */
  vocab: Record<string, number>
  /** `vocab_size` for the model's config.json. */
  vocabSize: number
}

export function buildTokenizer(): TokenizerFiles {
  const special: string[] = Object.values(specialTokens)
  const tokens = [...special, ...tagTokens, ...characters]
  const vocab = Object.fromEntries(tokens.map((token, id) => [token, id]))
  const addedTokens = [...special, ...tagTokens].map((content, id) => ({
    id,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: special.includes(content),
  }))
  const tokenizer = {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: addedTokens,
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    decoder: { type: 'Fuse' },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: specialTokens.unknown,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab,
      merges: [],
    },
  }
  const config = {
    tokenizer_class: 'PreTrainedTokenizerFast',
    pad_token: specialTokens.pad,
    eos_token: specialTokens.end,
    unk_token: specialTokens.unknown,
    clean_up_tokenization_spaces: false,
    chat_template: chatTemplate,
  }
  return { tokenizer, config, vocab, vocabSize: Math.ceil(tokens.length / ROW_MULTIPLE) * ROW_MULTIPLE }
}
