"""Log-probabilities that transformers gives the stand-ins of released models: see shapes.ts.

    python shapes.py FOLDER released/fixtures/shapes.json

needs torch and transformers (made with torch 2.15, transformers 5.24). The tests never run it.
"""
import json
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM

torch.set_num_threads(1)
LENGTH = 48


def score(folder):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation='eager').eval()
    generator = torch.Generator().manual_seed(len(folder.name))
    ids = torch.randint(0, 2048, (LENGTH + 1,), generator=generator)
    with torch.no_grad():
        scores = torch.log_softmax(model(ids[None, :-1]).logits[0], dim=-1)
    return {'tokens': ids.tolist(), 'logprobs': scores.gather(1, ids[1:, None])[:, 0].tolist()}


if __name__ == '__main__':
    folders = sorted(each for each in Path(sys.argv[1]).iterdir() if each.is_dir())
    out = {folder.name: score(folder) for folder in folders}
    Path(sys.argv[2]).write_text(json.dumps(out, indent=1) + '\n')
