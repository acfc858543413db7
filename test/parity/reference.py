"""Writes the parity fixtures: tiny random checkpoints and what PyTorch and transformers compute from them.

    python reference.py fixtures

needs torch, transformers, safetensors and numpy (made with torch 2.15, transformers 5.24). The tests never run it;
check.py verifies the result without either library. Everything follows from the seeds below, so a second run on the
same versions writes the same bytes.

    <checkpoint>/model/       Hugging Face folder
    <checkpoint>/adapter/     PEFT adapter, rank 4, alpha 8, all seven linear layers, A and B non-zero
    <checkpoint>/reference/   reference.json; tensors.safetensors: float32 log-probabilities, and gradients as int16
                              times the scale in reference.json, every n-th entry of large ones

Losses are sums over tokens; logp = log_softmax(logits / temperature) of the target, r = exp(logp - old):
    cross_entropy         -sum w logp
    importance_sampling   -sum r A
    ppo                   -sum min(r A, clip(r, low, high) A)
    KL reference term     + coefficient * sum |w| (exp(ref - logp) - (ref - logp) - 1)
"""
import json
import math
import sys
from pathlib import Path

import numpy as np
import torch
from checkpoints import CHECKPOINTS, COMMON, make_adapter, make_weights, merged, write_adapter, write_model
from safetensors.torch import save_file
from torch.func import functional_call
from transformers import AutoModelForCausalLM

torch.set_num_threads(1)

LENGTHS = [5, 17, 33, 1]
# Scored only: positions far out, where an error of the rotary angles would show.
LONG = 400


class Tensors:
    """Arrays for tensors.safetensors; of those kept as int16, the scale and the step between the entries kept."""

    def __init__(self):
        self.values, self.kept = {}, {}

    def exact(self, name, value):
        self.values[name] = value.detach().to(torch.float32).contiguous()

    def rounded(self, name, value, most):
        # A step coprime to every matrix's width, so that entries of all columns are kept.
        every = math.ceil(value.numel() / most)
        while every > 1 and any(every % prime == 0 for prime in (2, 3, 5)):
            every += 1
        largest = value.abs().max().item()
        scale = largest / 32767 if largest > 0 else 1.0
        self.values[name] = (value.detach().flatten()[::every] / scale).round().to(torch.int16)
        self.kept[name] = {'scale': scale, 'every': every}


class Reference:
    def __init__(self, model, weights, adapter, rng):
        self.model, self.weights, self.adapter, self.rng = model, weights, adapter, rng

    def logits(self, weights, tokens):
        out = functional_call(self.model, weights, args=(), kwargs={'input_ids': torch.tensor([tokens])})
        return out.logits[0]

    def logp(self, weights, sequence, temperature=1.0):
        scores = torch.log_softmax(self.logits(weights, sequence['tokens']) / temperature, dim=-1)
        return scores.gather(1, torch.tensor(sequence['targets'])[:, None])[:, 0]

    def value(self, weights, sequences, data, loss):
        """The loss, its ratios, and the log-probabilities it was formed from."""
        total, ratios, logprobs = torch.zeros(()), [], []
        for sequence, datum in zip(sequences, data):
            column = lambda name: torch.tensor(datum[name], dtype=torch.float32)
            logp = self.logp(weights, sequence, loss.get('temperature', 1.0))
            logprobs.append(logp)
            if loss['name'] == 'cross_entropy':
                total = total - (column('weights') * logp).sum()
                continue
            advantages = column('advantages')
            ratio = torch.exp(logp - column('logprobs'))
            ratios.append(ratio[advantages != 0])
            if loss['name'] == 'importance_sampling':
                total = total - (ratio * advantages).sum()
            else:
                clipped = ratio.clamp(loss['clipLow'], loss['clipHigh'])
                total = total - torch.minimum(ratio * advantages, clipped * advantages).sum()
            if 'klCoefficient' in loss:
                gap = column('referenceLogprobs') - logp
                term = (column('weights').abs() * (torch.exp(gap) - gap - 1)).sum()
                total = total + loss['klCoefficient'] * term
        return total, torch.cat(ratios) if ratios else None, logprobs

    def gradients(self, what, sequences, data, loss, weights=None, adapter=None):
        """Gradients of the weights (what = 'full') or of A and B (what = 'lora')."""
        weights = weights or self.weights
        trained = {n: v.clone().requires_grad_() for n, v in (adapter or self.adapter if what == 'lora' else weights).items()}
        effective = merged(weights, trained) if what == 'lora' else trained
        total, ratios, logprobs = self.value(effective, sequences, data, loss)
        total.backward()
        return total.item(), ratios, logprobs, {n: v.grad for n, v in trained.items()}

    def datum(self, what, sequence, loss):
        """Inputs of a loss: the first third is prompt; ratios lie on both sides of the clip bounds, off the kinks."""
        rng, length = self.rng, len(sequence['tokens'])
        prompt = length // 3
        keep = np.arange(length) >= prompt
        weights = np.where(keep & (rng.random(length) > 0.15), rng.uniform(0.1, 1.5, length), 0)
        if length > 8:
            weights[prompt + 1] = -0.7
        weights = weights.round(3)
        if loss['name'] == 'cross_entropy':
            return {'weights': weights.tolist()}
        effective = merged(self.weights, self.adapter) if what == 'lora' else self.weights
        with torch.no_grad():
            logp = self.logp(effective, sequence, loss['temperature']).numpy()
        sign = np.where(rng.random(length) < 0.5, -1, 1)
        advantages = np.where(weights != 0, sign * rng.uniform(0.2, 2.0, length), 0).round(3)
        ratio = rng.choice([0.5, 0.65, 0.76, 0.85, 0.97, 1.0, 1.08, 1.16, 1.25, 1.4, 1.9], length)
        out = {'advantages': advantages.tolist(), 'logprobs': (logp - np.log(ratio)).round(5).tolist()}
        if 'klCoefficient' in loss:
            out['weights'] = weights.tolist()
            out['referenceLogprobs'] = (logp + rng.normal(0, 0.4, length)).round(5).tolist()
        return out

    def greedy(self, length=20):
        """A continuation no near-tie can turn, free of the end token; retried from new prompts until one is found."""
        while True:
            prompt = self.rng.integers(2, self.model.config.vocab_size, 6).tolist()
            tokens, logprobs, entropies, margin = [], [], [], math.inf
            for _ in range(length):
                with torch.no_grad():
                    scores = torch.log_softmax(self.logits(self.weights, prompt + tokens)[-1], dim=-1)
                best = torch.topk(scores, 2)
                margin = min(margin, (best.values[0] - best.values[1]).item())
                tokens.append(best.indices[0].item())
                logprobs.append(best.values[0].item())
                entropies.append(-(scores.exp() * scores).sum().item())
            if margin > 0.01 and 0 not in tokens and len(set(tokens)) > 9:
                return {'prompt': prompt, 'tokens': tokens, 'logprobs': logprobs, 'entropies': entropies}

    def adamw(self, what, sequences, data):
        """Three steps; the second accumulates its gradient in two calls. Clipping leaves the third alone."""
        start = self.adapter if what == 'lora' else self.weights
        now = {n: v.clone() for n, v in start.items()}
        parameters = {n: torch.nn.Parameter(v) for n, v in now.items()}
        matrices = [p for p in parameters.values() if p.ndim > 1]
        vectors = [p for p in parameters.values() if p.ndim == 1]
        groups = [{'params': matrices, 'weight_decay': 0.1}, {'params': vectors, 'weight_decay': 0.0}]
        adam = {'beta1': 0.9, 'beta2': 0.95, 'epsilon': 1e-8, 'weightDecay': 0.1}
        optimizer = torch.optim.AdamW([g for g in groups if g['params']], betas=(0.9, 0.95), eps=1e-8)
        steps = []
        for rate, calls in ((1e-2, [[0, 1, 2, 3]]), (5e-3, [[0, 1], [2, 3]]), (2e-3, [[2, 0]])):
            optimizer.zero_grad()
            values = {n: p.detach() for n, p in parameters.items()}
            place = {'adapter': values} if what == 'lora' else {'weights': values}
            losses = []
            for call in calls:
                loss, _, _, grads = self.gradients(
                    what, [sequences[i] for i in call], [data[i] for i in call], {'name': 'cross_entropy'}, **place)
                losses.append(loss)
                for name, grad in grads.items():
                    p = parameters[name]
                    p.grad = grad.clone() if p.grad is None else p.grad + grad
            clip = 100.0 if what == 'full' else 80.0
            norm = torch.nn.utils.clip_grad_norm_(parameters.values(), clip).item()
            before = {n: p.detach().clone() for n, p in parameters.items()}
            for group in optimizer.param_groups:
                group['lr'] = rate
            optimizer.step()
            change = torch.sqrt(sum(((p.detach() - before[n]) ** 2).sum() for n, p in parameters.items())).item()
            steps.append({'adam': {'learningRate': rate, **adam, 'clipNorm': clip}, 'calls': calls, 'losses': losses,
                          'gradNorm': norm, 'updateNorm': change})
        assert [s['gradNorm'] > clip for s in steps] == [True, True, False]
        return steps, {n: p.detach() - start[n] for n, p in parameters.items()}


POLICY = {'importance_sampling': {}, 'ppo': {'clipLow': 0.8, 'clipHigh': 1.2}}
CASES = [
    ('cross_entropy', 'full', {'name': 'cross_entropy'}),
    ('importance_sampling', 'full', {'name': 'importance_sampling', 'temperature': 1}),
    ('importance_sampling-0.6-kl', 'full', {'name': 'importance_sampling', 'temperature': 0.6, 'klCoefficient': 0.3}),
    ('ppo', 'full', {'name': 'ppo', 'temperature': 1, **POLICY['ppo']}),
    ('ppo-0.6-kl', 'full', {'name': 'ppo', 'temperature': 0.6, **POLICY['ppo'], 'klCoefficient': 0.3}),
    ('lora-cross_entropy', 'lora', {'name': 'cross_entropy'}),
    ('lora-ppo-0.6-kl', 'lora', {'name': 'ppo', 'temperature': 0.6, **POLICY['ppo'], 'klCoefficient': 0.3}),
]


def clips_everywhere(data, ratios):
    """Both bounds are crossed with both signs of the advantage, and no ratio sits on a kink."""
    advantages = np.concatenate([np.array(d['advantages']) for d in data])
    advantages, ratio = advantages[advantages != 0], ratios.detach().numpy()
    crossed = all((o & s).any() for o in (ratio < 0.8, ratio > 1.2) for s in (advantages < 0, advantages > 0))
    return crossed and min(np.abs(ratio - 0.8).min(), np.abs(ratio - 1.2).min()) > 0.01


def write_checkpoint(folder, name, spec, seed):
    rng = np.random.default_rng(seed)
    config = {**COMMON, **spec['config']}
    weights = write_model(folder / 'model', config, make_weights(config, rng), spec['dtype'], spec['shards'])
    adapter = make_adapter(config, rng)
    write_adapter(folder / 'adapter', adapter)
    model = AutoModelForCausalLM.from_pretrained(
        folder / 'model', dtype=torch.float32, attn_implementation='eager').eval()
    loaded = dict(model.named_parameters())
    assert loaded.keys() == weights.keys() and all(torch.equal(loaded[n], weights[n]) for n in weights)
    reference = Reference(model, weights, adapter, rng)

    sequences = []
    for length in LENGTHS:
        ids = rng.integers(0, config['vocab_size'], length + 1).tolist()
        sequences.append({'tokens': ids[:-1], 'targets': ids[1:]})
    kept, cases = Tensors(), []
    with torch.no_grad():
        for i, sequence in enumerate(sequences):
            scores = torch.log_softmax(reference.logits(weights, sequence['tokens']), dim=-1)
            kept.exact(f'logprobs.{i}', scores)
        lora = merged(weights, adapter)
        adapted = [reference.logp(lora, sequence) for sequence in sequences]
    for case, what, loss in CASES:
        while True:
            data = [reference.datum(what, sequence, loss) for sequence in sequences]
            value, ratios, logprobs, grads = reference.gradients(what, sequences, data, loss)
            if loss['name'] != 'ppo' or clips_everywhere(data, ratios):
                break
        entry = {'name': case, 'what': what, 'loss': loss, 'data': data, 'value': value}
        if ratios is not None:
            entry['ratio'] = {'mean': ratios.mean().item(), 'max': ratios.max().item()}
        for i, logp in enumerate(logprobs):
            kept.exact(f'{case}/logprobs.{i}', logp)
        most = 1000 if case == 'cross_entropy' else 200
        for parameter, grad in grads.items():
            kept.rounded(f'{case}/{parameter}', grad, most)
        cases.append(entry)
    out = {'sequences': sequences, 'adapterLogprobs': [a.tolist() for a in adapted], 'cases': cases,
           'greedy': reference.greedy()}
    ids = rng.integers(0, config['vocab_size'], LONG + 1).tolist()
    long = {'tokens': ids[:-1], 'targets': ids[1:]}
    with torch.no_grad():
        out['long'] = {**long, 'logprobs': reference.logp(weights, long).tolist()}
    if name == 'qwen3-tied':
        data = {'full': cases[0]['data'], 'lora': cases[5]['data']}
        out['adamw'] = {}
        for what in data:
            steps, change = reference.adamw(what, sequences, data[what])
            out['adamw'][what] = {'data': data[what], 'steps': steps}
            for parameter, value in change.items():
                kept.rounded(f'adamw-{what}/{parameter}', value, 1000)
    out['kept'] = kept.kept
    (folder / 'reference').mkdir(exist_ok=True)
    (folder / 'reference' / 'reference.json').write_text(json.dumps(out) + '\n')
    save_file(kept.values, folder / 'reference' / 'tensors.safetensors')


if __name__ == '__main__':
    target = Path(sys.argv[1])
    for index, (name, spec) in enumerate(CHECKPOINTS.items()):
        write_checkpoint(target / name, name, spec, seed=20260 + index)
        print(name, sum(f.stat().st_size for f in (target / name).rglob('*') if f.is_file()), 'bytes')
