"""Checks the parity fixtures by other means: a float64 forward pass in numpy, and finite differences of every loss.

    python check.py fixtures

needs numpy only: no torch, no transformers, no automatic differentiation.
"""
import json
import sys
from pathlib import Path

import numpy as np

RANK, ALPHA = 4, 8


def read_safetensors(folder):
    out = {}
    for file in sorted(folder.glob('*.safetensors')):
        raw = file.read_bytes()
        size = int.from_bytes(raw[:8], 'little')
        for name, entry in json.loads(raw[8:8 + size]).items():
            if name == '__metadata__':
                continue
            start, end = (8 + size + offset for offset in entry['data_offsets'])
            if entry['dtype'] == 'BF16':
                value = (np.frombuffer(raw[start:end], '<u2').astype('<u4') << 16).view('<f4')
            else:
                value = np.frombuffer(raw[start:end], {'F32': '<f4', 'F16': '<f2', 'I16': '<i2'}[entry['dtype']])
            out[name] = value.reshape(entry['shape']).astype(np.float64)
    return out


def frequencies(config, dim):
    rope = config.get('rope_parameters') or config.get('rope_scaling') or {}
    theta = rope.get('rope_theta') or config['rope_theta']
    turns = theta ** (-np.arange(0, dim, 2) / dim)
    if rope.get('rope_type') == 'llama3':
        original = rope['original_max_position_embeddings']
        rotations = original * turns / (2 * np.pi)
        low, high = rope['low_freq_factor'], rope['high_freq_factor']
        blend = np.clip((rotations - low) / (high - low), 0, 1)
        turns = turns * (blend + (1 - blend) / rope['factor'])
    return turns


def norm(x, weight, epsilon):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def logits(config, w, tokens):
    heads, kv = config['num_attention_heads'], config['num_key_value_heads']
    dim, epsilon, length = config.get('head_dim') or config['hidden_size'] // heads, config['rms_norm_eps'], len(tokens)
    angle = np.arange(length)[:, None] * frequencies(config, dim)
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]

    def rotate(x):
        a, b = x[..., : dim // 2], x[..., dim // 2:]
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    h = w['model.embed_tokens.weight'][tokens]
    for layer in range(config['num_hidden_layers']):
        p = f'model.layers.{layer}.'

        def linear(x, name):
            return x @ w[p + name + '.weight'].T + w.get(p + name + '.bias', 0)

        x = norm(h, w[p + 'input_layernorm.weight'], epsilon)
        q = linear(x, 'self_attn.q_proj').reshape(length, heads, dim)
        k = linear(x, 'self_attn.k_proj').reshape(length, kv, dim)
        v = linear(x, 'self_attn.v_proj').reshape(length, kv, dim)
        if config['model_type'] == 'qwen3':
            q, k = (norm(y, w[f'{p}self_attn.{n}_norm.weight'], epsilon) for y, n in ((q, 'q'), (k, 'k')))
        q, k, group = rotate(q), rotate(k), heads // kv
        mixed = np.empty((length, heads, dim))
        for head in range(heads):
            scores = q[:, head] @ k[:, head // group].T / np.sqrt(dim)
            scores[np.triu_indices(length, 1)] = -np.inf
            mixed[:, head] = np.exp(log_softmax(scores)) @ v[:, head // group]
        h = h + linear(mixed.reshape(length, -1), 'self_attn.o_proj')
        x = norm(h, w[p + 'post_attention_layernorm.weight'], epsilon)
        gate = linear(x, 'mlp.gate_proj')
        h = h + linear(gate / (1 + np.exp(-gate)) * linear(x, 'mlp.up_proj'), 'mlp.down_proj')
    head = w['model.embed_tokens.weight' if config['tie_word_embeddings'] else 'lm_head.weight']
    return norm(h, w['model.norm.weight'], epsilon) @ head.T


def loss_value(config, w, sequences, case):
    loss, total = case['loss'], 0.0
    for sequence, datum in zip(sequences, case['data']):
        d = {name: np.float32(values).astype(np.float64) for name, values in datum.items()}
        scores = log_softmax(logits(config, w, sequence['tokens']) / loss.get('temperature', 1))
        logp = scores[np.arange(len(scores)), sequence['targets']]
        if loss['name'] == 'cross_entropy':
            total -= (d['weights'] * logp).sum()
            continue
        ratio = np.exp(logp - d['logprobs'])
        gain = ratio * d['advantages']
        if loss['name'] == 'ppo':
            gain = np.minimum(gain, np.clip(ratio, loss['clipLow'], loss['clipHigh']) * d['advantages'])
        total -= gain.sum()
        if 'klCoefficient' in loss:
            gap = d['referenceLogprobs'] - logp
            total += loss['klCoefficient'] * (np.abs(d['weights']) * (np.exp(gap) - gap - 1)).sum()
    return total


def effective(weights, adapter):
    out = dict(weights)
    for name in adapter:
        if '.lora_A.' in name:
            target = name.replace('.lora_A', '')
            out[target] = weights[target] + ALPHA / RANK * adapter[name.replace('lora_A', 'lora_B')] @ adapter[name]
    return out


def check(folder):
    config = json.loads((folder / 'model' / 'config.json').read_text())
    weights, kept = read_safetensors(folder / 'model'), read_safetensors(folder / 'reference')
    adapter = {n.removeprefix('base_model.model.'): v for n, v in read_safetensors(folder / 'adapter').items()}
    reference = json.loads((folder / 'reference' / 'reference.json').read_text())
    sequences, rng = reference['sequences'], np.random.default_rng(0)
    worst = max(np.abs(log_softmax(logits(config, weights, s['tokens'])) - kept[f'logprobs.{i}']).max()
                for i, s in enumerate(sequences))
    long = reference['long']
    scores = log_softmax(logits(config, weights, long['tokens']))[np.arange(len(long['tokens'])), long['targets']]
    # In float32 the angles of far positions are rounded, which shows.
    far = np.abs(scores - long['logprobs']).max()
    print(f'{folder.name}: log-probabilities differ by {worst:.1e}, far out by {far:.1e}')
    assert worst < 2e-5 and far < 2e-4

    for case in reference['cases']:
        start = adapter if case['what'] == 'lora' else weights

        def value(trained):
            w = effective(weights, trained) if case['what'] == 'lora' else trained
            return loss_value(config, w, sequences, case)

        error = abs(value(start) - case['value']) / max(1, abs(case['value']))
        slopes = []
        for name in start:
            form = reference['kept'][f"{case['name']}/{name}"]
            gradient = kept[f"{case['name']}/{name}"] * form['scale']
            direction = np.zeros(start[name].size)
            direction[::form['every']] = rng.choice([-1.0, 1.0], gradient.size)
            step = 1e-5 * direction.reshape(start[name].shape)
            slope = (value({**start, name: start[name] + step}) - value({**start, name: start[name] - step})) / 2e-5
            exact = gradient.flatten() @ direction[::form['every']]
            slopes.append(abs(slope - exact) / (np.abs(gradient).max() * np.sqrt(gradient.size)))
        print(f"  {case['name']}: loss {error:.1e}, gradients {max(slopes):.1e}")
        assert error < 1e-5 and max(slopes) < 1e-4


if __name__ == '__main__':
    folders = sorted(f for f in Path(sys.argv[1]).iterdir() if f.is_dir())
    for folder in folders:
        check(folder)
