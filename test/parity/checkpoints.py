"""Tiny random checkpoints of the three supported architectures, as Hugging Face folders, with their adapters."""
import json

import numpy as np
import torch
from safetensors.torch import save_file

CHARACTERS = ' \netaoinshrdlcumwfgypbvkjxqz0123456789+-*/=().,:;!?<>\'"ETAOINSHRDLCUMWFGYPBVKJXQZ#$%&@[]^_`{|}~\\'
SPECIALS = ['<|end|>', '<|start|>']
TEMPLATE = (
    "{% for message in messages %}<|start|>{{ message['role'] }}: {{ message['content'] }}<|end|>{% endfor %}"
    '{% if add_generation_prompt %}<|start|>assistant: {% endif %}'
)
LINEARS = {
    'q_proj': 'self_attn', 'k_proj': 'self_attn', 'v_proj': 'self_attn', 'o_proj': 'self_attn',
    'gate_proj': 'mlp', 'up_proj': 'mlp', 'down_proj': 'mlp',
}
RANK, ALPHA = 4, 8

COMMON = {
    'hidden_act': 'silu', 'intermediate_size': 80, 'max_position_embeddings': 512, 'use_cache': True,
    'initializer_range': 0.02, 'attention_dropout': 0.0, 'bos_token_id': 1, 'eos_token_id': 0,
}
CHECKPOINTS = {
    # head_dim differs from hidden_size / num_attention_heads, as in Qwen3.
    'qwen3-tied': {
        'dtype': torch.float32, 'shards': 1,
        'config': {
            'architectures': ['Qwen3ForCausalLM'], 'model_type': 'qwen3', 'vocab_size': 64, 'hidden_size': 32,
            'num_hidden_layers': 2, 'num_attention_heads': 4, 'num_key_value_heads': 2, 'head_dim': 16,
            'rms_norm_eps': 1e-6, 'rope_theta': 1000000, 'rope_scaling': None, 'attention_bias': False,
            'tie_word_embeddings': True, 'sliding_window': None, 'use_sliding_window': False,
            'max_window_layers': 2, 'torch_dtype': 'float32',
        },
    },
    'qwen2-untied': {
        'dtype': torch.bfloat16, 'shards': 1,
        'config': {
            'architectures': ['Qwen2ForCausalLM'], 'model_type': 'qwen2', 'vocab_size': 70, 'hidden_size': 48,
            'num_hidden_layers': 2, 'num_attention_heads': 6, 'num_key_value_heads': 2, 'rms_norm_eps': 1e-6,
            'rope_theta': 10000.0, 'tie_word_embeddings': False, 'sliding_window': 512,
            'use_sliding_window': False, 'max_window_layers': 2, 'torch_dtype': 'bfloat16',
        },
    },
    # The bands of Llama 3.1 scaling (kept, blended, slowed) all have frequencies here.
    'llama-rope31': {
        'dtype': torch.float16, 'shards': 1,
        'config': {
            'architectures': ['LlamaForCausalLM'], 'model_type': 'llama', 'vocab_size': 72, 'hidden_size': 48,
            'num_hidden_layers': 2, 'num_attention_heads': 3, 'num_key_value_heads': 1, 'head_dim': 16,
            'rms_norm_eps': 1e-5, 'rope_theta': 500.0, 'attention_bias': False, 'mlp_bias': False,
            'tie_word_embeddings': False, 'torch_dtype': 'float16',
            'rope_scaling': {
                'factor': 8.0, 'high_freq_factor': 4.0, 'low_freq_factor': 1.0,
                'original_max_position_embeddings': 64, 'rope_type': 'llama3',
            },
        },
    },
    # The spelling of transformers 5: rope_parameters and dtype.
    'llama-plain-tied': {
        'dtype': torch.float32, 'shards': 3,
        'config': {
            'architectures': ['LlamaForCausalLM'], 'model_type': 'llama', 'vocab_size': 96, 'hidden_size': 32,
            'num_hidden_layers': 3, 'num_attention_heads': 4, 'num_key_value_heads': 4, 'head_dim': 8,
            'rms_norm_eps': 1e-5, 'rope_parameters': {'rope_theta': 10000.0, 'rope_type': 'default'},
            'attention_bias': False, 'mlp_bias': False, 'tie_word_embeddings': True, 'dtype': 'float32',
        },
    },
}


def head_dim(config):
    return config.get('head_dim') or config['hidden_size'] // config['num_attention_heads']


def linear_shapes(config):
    hidden, inner, dim = config['hidden_size'], config['intermediate_size'], head_dim(config)
    q, kv = config['num_attention_heads'] * dim, config['num_key_value_heads'] * dim
    return {
        'q_proj': (q, hidden), 'k_proj': (kv, hidden), 'v_proj': (kv, hidden), 'o_proj': (hidden, q),
        'gate_proj': (inner, hidden), 'up_proj': (inner, hidden), 'down_proj': (hidden, inner),
    }


def make_weights(config, rng):
    """Far from an initialisation's scale: logits must differ, norms and biases must matter."""
    def normal(*shape, std, mean=0.0):
        return torch.from_numpy((mean + std * rng.standard_normal(shape)).astype(np.float32))

    hidden = config['hidden_size']
    weights = {'model.embed_tokens.weight': normal(config['vocab_size'], hidden, std=0.3)}
    for layer in range(config['num_hidden_layers']):
        prefix = f'model.layers.{layer}.'
        for name, shape in linear_shapes(config).items():
            weights[f'{prefix}{LINEARS[name]}.{name}.weight'] = normal(*shape, std=0.22)
            if config['model_type'] == 'qwen2' and name in ('q_proj', 'k_proj', 'v_proj'):
                weights[f'{prefix}self_attn.{name}.bias'] = normal(shape[0], std=0.5)
        for name in ('input_layernorm', 'post_attention_layernorm'):
            weights[f'{prefix}{name}.weight'] = normal(hidden, std=0.2, mean=1.0)
        if config['model_type'] == 'qwen3':
            for name in ('q_norm', 'k_norm'):
                weights[f'{prefix}self_attn.{name}.weight'] = normal(head_dim(config), std=0.2, mean=1.0)
    weights['model.norm.weight'] = normal(hidden, std=0.2, mean=1.0)
    if not config['tie_word_embeddings']:
        weights['lm_head.weight'] = normal(config['vocab_size'], hidden, std=0.3)
    return weights


def make_adapter(config, rng):
    adapter = {}
    for layer in range(config['num_hidden_layers']):
        for name, (rows, columns) in linear_shapes(config).items():
            stem = f'model.layers.{layer}.{LINEARS[name]}.{name}'
            for part, shape in (('lora_A', (RANK, columns)), ('lora_B', (rows, RANK))):
                values = (0.15 * rng.standard_normal(shape)).astype(np.float32)
                adapter[f'{stem}.{part}.weight'] = torch.from_numpy(values)
    return adapter


def merged(weights, adapter):
    out = dict(weights)
    for name in adapter:
        if '.lora_A.' in name:
            delta = adapter[name.replace('lora_A', 'lora_B')] @ adapter[name]
            target = name.replace('.lora_A.weight', '.weight')
            out[target] = weights[target] + (ALPHA / RANK) * delta
    return out


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1) + '\n')


def write_model(folder, config, weights, dtype, shards):
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / 'config.json', config)
    write_json(folder / 'generation_config.json', {'bos_token_id': 1, 'eos_token_id': [0]})
    stored = {name: value.to(dtype).contiguous() for name, value in weights.items()}
    meta = {'format': 'pt'}
    if shards == 1:
        save_file(stored, folder / 'model.safetensors', metadata=meta)
    else:
        names, where = list(stored), {}
        for shard in range(shards):
            file = f'model-{shard + 1:05d}-of-{shards:05d}.safetensors'
            mine = names[shard::shards]
            where.update({name: file for name in mine})
            save_file({name: stored[name] for name in mine}, folder / file, metadata=meta)
        size = sum(value.nbytes for value in stored.values())
        write_json(folder / 'model.safetensors.index.json', {'metadata': {'total_size': size}, 'weight_map': where})
    vocab = SPECIALS + list(CHARACTERS)[: config['vocab_size'] - len(SPECIALS)]
    assert len(vocab) == config['vocab_size'] and len(set(vocab)) == len(vocab)
    added = {'single_word': False, 'lstrip': False, 'rstrip': False, 'normalized': False, 'special': True}
    tokenizer = {
        'version': '1.0', 'truncation': None, 'padding': None,
        'added_tokens': [{'id': i, 'content': text, **added} for i, text in enumerate(SPECIALS)],
        'normalizer': None, 'pre_tokenizer': None, 'post_processor': None, 'decoder': {'type': 'Fuse'},
        'model': {
            'type': 'BPE', 'dropout': None, 'unk_token': None, 'continuing_subword_prefix': None,
            'end_of_word_suffix': None, 'fuse_unk': False, 'byte_fallback': False, 'ignore_merges': False,
            'vocab': {text: i for i, text in enumerate(vocab)}, 'merges': [],
        },
    }
    write_json(folder / 'tokenizer.json', tokenizer)
    write_json(folder / 'tokenizer_config.json', {
        'tokenizer_class': 'PreTrainedTokenizerFast', 'bos_token': '<|start|>', 'eos_token': '<|end|>',
        'add_bos_token': False, 'clean_up_tokenization_spaces': False, 'model_max_length': 512,
        'chat_template': TEMPLATE,
    })
    return {name: value.to(torch.float32) for name, value in stored.items()}


def write_adapter(folder, adapter):
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / 'adapter_config.json', {
        'peft_type': 'LORA', 'task_type': 'CAUSAL_LM', 'base_model_name_or_path': '../model', 'r': RANK,
        'lora_alpha': ALPHA, 'lora_dropout': 0.0, 'bias': 'none', 'fan_in_fan_out': False, 'inference_mode': True,
        'use_rslora': False, 'target_modules': list(LINEARS),
    })
    stored = {f'base_model.model.{name}': value for name, value in adapter.items()}
    save_file(stored, folder / 'adapter_model.safetensors', metadata={'format': 'pt'})
