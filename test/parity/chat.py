"""Writes released/fixtures/cases.json: what transformers renders from the chat templates of each family, and token ids.

    python chat.py released/fixtures TEMPLATES TOKENIZERS

needs transformers and jinja2 (made with transformers 5.24, tokenizers 0.23). TEMPLATES holds the templates that are not
in the fixtures, llama-3.1.jinja and llama-3.2.jinja: their licence keeps them out of this repository, so the test reads
them from the Hub's cache where they were pulled. TOKENIZERS holds qwen2.5, qwen3 and llama-3 with a tokenizer.json each.
The tests never run this.
"""
import json
import sys
from pathlib import Path

from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

say = lambda role, content: {'role': role, 'content': content}
CONVERSATIONS = {
    'question': [say('user', '1+1=?')],
    'system': [say('system', 'Answer in \\boxed{}.'), say('user', '1+1=?')],
    'turns': [
        say('system', 'Be brief.'), say('user', '1+1=?'), say('assistant', '<think>\neasy\n</think>\n\n\\boxed{2}'),
        say('user', '解 x²=4, 为什么？'), say('assistant', '\\boxed{±2}'), say('user', 'Sure?'),
    ],
    'answered': [say('user', '1+1=?'), say('assistant', '<think>\n\neasy\n\n</think>\n\n\n2\n')],
    'unopened thought': [say('user', '1+1=?'), say('assistant', 'easy</think>2'), say('user', 'And 2+2?')],
    'two thoughts': [say('user', 'x'), say('assistant', '<think>a</think>b<think>c</think>d'), say('user', 'y')],
    'spaces': [say('system', '  \n lead'), say('user', '\n\n\t two  words \n'), say('assistant', ' \n ok \n')],
    'marks': [say('user', '<b>"{{ bos_token }}" & {% if %} \'q\' \\n </b> {# no #} 👨‍👩‍👧 é')],
    'empty': [say('system', ''), say('user', ''), say('assistant', ''), say('user', 'Still there?')],
    'system late': [say('user', 'Hello'), say('system', 'Be brief.'), say('user', '1+1=?')],
    'two systems': [say('system', 'One.'), say('system', 'Two.'), say('user', 'Go.')],
    'assistant first': [say('assistant', 'Hello'), say('user', 'Go on.')],
    'users': [say('user', 'a'), say('user', 'b'), say('assistant', 'c'), say('assistant', 'd'), say('user', 'e')],
    'tool answer': [say('user', 'q'), say('assistant', 'call'), say('user', '<tool_response>5</tool_response>')],
}
FAMILIES = {
    'qwen2.5': {'bos': None}, 'qwen3': {'bos': None},
    'deepseek-r1-distill': {'bos': '<｜begin▁of▁sentence｜>'},
    'llama-3.1': {'bos': '<|begin_of_text|>', 'model': 'meta-llama/Llama-3.1-8B-Instruct'},
    'llama-3.2': {'bos': '<|begin_of_text|>', 'model': 'meta-llama/Llama-3.2-3B-Instruct'},
}
TEXTS = [
    'Hello, world!', ' leading', 'trailing  ', '1234567890', '12 345.67', "it's I'LL don’t", 'a\n\n\n b\r\n\tc',
    'x²+y²=z² ≤ ∞', '\\frac{a}{b}=\\sqrt{2}', '设 f(x)=1，求解。', 'Привет мир', 'नमस्ते', '👨‍👩‍👧🇫🇷', 'é e\u0301',
    '    if x:\n        return [i**2 for i in range(10)]', '<|im_start|>user\nhi<|im_end|>', '<|eot_id|>x<|end_of_text|>',
    '<think>\nso\n</think>\n\n', '\u00a0\u200b\ufeff', 'ﬁ ＡＢＣ', '...!!!???', '', '\x00\x01', 'https://example.org/a?b=c&d=%20',
]


def render(family, template):
    bare = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()), bos_token=FAMILIES[family]['bos'])
    out = []
    for name, messages in CONVERSATIONS.items():
        for prompt in (True, False):
            texts = [bare.apply_chat_template(
                messages, chat_template=template, tokenize=False, add_generation_prompt=prompt,
                enable_thinking=thinking, date_string='26 Jul 2024') for thinking in (True, False)]
            case = {'conversation': name, 'generationPrompt': prompt, 'text': texts[0]}
            out.append(case if texts[0] == texts[1] else {**case, 'textWithoutThinking': texts[1]})
    return out


def main(fixtures, templates, tokenizers):
    rendered = {}
    for family, about in FAMILIES.items():
        folder = templates if 'model' in about else fixtures
        template = (folder / f'{family}.jinja').read_text()
        rendered[family] = {**about, 'cases': render(family, template)}
    ids = {}
    for name in ('qwen2.5', 'qwen3', 'llama-3'):
        tokenizer = Tokenizer.from_file(str(tokenizers / name / 'tokenizer.json'))
        ids[name] = [tokenizer.encode(text, add_special_tokens=False).ids for text in TEXTS]
    cases = {'conversations': CONVERSATIONS, 'families': rendered, 'texts': TEXTS, 'ids': ids}
    (fixtures / 'cases.json').write_text(json.dumps(cases, ensure_ascii=False, indent=1) + '\n')


if __name__ == '__main__':
    main(*(Path(each) for each in sys.argv[1:]))
