"""
The fixed script of SDK calls whose requests the fixtures hold. Every number is fixed, so that another client can make
the same calls: test and fixtures speak of the same datums. TINKER_BASE_URL, TINKER_API_KEY, TINKER_BASE_MODEL name the
server.
"""

import os
import warnings

import tinker
from tinker import types

PROMPT = [5, 6, 7, 8, 9]
FULL = [5, 6, 7, 8, 9, 20, 21, 22]


def datum(**inputs):
    tensors = {"target_tokens": types.TensorData(data=FULL[1:], dtype="int64", shape=[7])}
    for key, data in inputs.items():
        tensors[key] = types.TensorData(data=data, dtype="float32", shape=[7])
    return types.Datum(model_input=types.ModelInput.from_ints(FULL[:-1]), loss_fn_inputs=tensors)


def done(value):
    """Later SDKs give futures where earlier ones gave the thing itself."""
    return value.result() if callable(getattr(value, "result", None)) else value


warnings.simplefilter("ignore")
rewarded = {"logprobs": [0, 0, 0, 0, -0.5, -1.0, -1.5], "advantages": [0, 0, 0, 0, 0.75, 0.75, 0.75]}
service = tinker.ServiceClient(base_url=os.environ["TINKER_BASE_URL"], api_key=os.environ["TINKER_API_KEY"])
base_model = os.environ["TINKER_BASE_MODEL"]
service.get_server_capabilities()
training = done(service.create_lora_training_client(base_model=base_model, rank=8, seed=1))

training.forward_backward([datum(weights=[0, 0, 0, 0, 1, 1, 1])], "cross_entropy").result()
training.forward_backward([datum(**rewarded)], "importance_sampling").result()
clip = {"clip_low_threshold": 0.8, "clip_high_threshold": 1.2}
training.forward_backward([datum(**rewarded), datum(**rewarded)], "ppo", clip).result()
adam = types.AdamParams(learning_rate=1e-4, beta1=0.9, beta2=0.95, eps=1e-8, weight_decay=0.0, grad_clip_norm=1.0)
training.optim_step(adam).result()
training.forward([datum(weights=[0, 0, 0, 0, 1, 1, 1])], "cross_entropy").result()

sampler = done(training.save_weights_and_get_sampling_client())
prompt = types.ModelInput.from_ints(PROMPT)
params = types.SamplingParams(max_tokens=8, seed=3, stop=[2], temperature=1.0, top_k=-1, top_p=1.0)
sampler.sample(prompt=prompt, num_samples=2, sampling_params=params).result()
sampler.compute_logprobs(types.ModelInput.from_ints(FULL)).result()

named = training.save_weights_for_sampler("named").result().path
done(service.create_sampling_client(model_path=named))
state = training.save_state("step-1").result().path
try:
    done(service.create_training_client_from_state_with_optimizer(state))
    print("every call was answered")
except tinker.APIStatusError as error:
    # Servers of earlier protocols do not know the later way to resume; the request is recorded all the same.
    print(f"every call was answered but the last, which resumes: {error.status_code}")
