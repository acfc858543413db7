"""Loads what `sparring export` writes with transformers and peft, and compares log-probabilities: see exported.ts.

    python exported.py FOLDER

needs torch, transformers and peft (run with torch 2.15, transformers 5.24, peft 0.21). The tests never run it.
"""
import json
import sys
from pathlib import Path

import torch
from peft import AutoPeftModelForCausalLM
from transformers import AutoModelForCausalLM, AutoTokenizer

torch.set_num_threads(1)


def compare(folder):
    given = json.loads(folder.with_suffix('.json').read_text())
    kind = AutoPeftModelForCausalLM if 'peft' in folder.name else AutoModelForCausalLM
    # Widened: the arithmetic of bfloat16 is not what is compared.
    model = kind.from_pretrained(folder, dtype=torch.float32, attn_implementation='eager').eval()
    if 'peft' not in folder.name:
        stored = json.loads((folder / 'config.json').read_text())
        assert stored.get('dtype', stored.get('torch_dtype')) == ('bfloat16' if 'bf16' in folder.name else 'float32')
        assert AutoTokenizer.from_pretrained(folder).chat_template
    worst = 0.0
    with torch.no_grad():
        for sequence, expected in zip(given['sequences'], given['logprobs']):
            scores = torch.log_softmax(model(torch.tensor([sequence['tokens']])).logits[0], dim=-1)
            actual = scores.gather(1, torch.tensor(sequence['targets'])[:, None])[:, 0]
            worst = max(worst, (actual - torch.tensor(expected)).abs().max().item())
    print(f'{folder.parent.name:16}  {folder.name:11}  {worst:.1e}')
    assert worst < 2e-5


if __name__ == '__main__':
    for folder in sorted(each for each in Path(sys.argv[1]).glob('*/*') if each.is_dir()):
        compare(folder)
