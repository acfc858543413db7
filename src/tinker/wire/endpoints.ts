/**
 * The JSON bodies of every endpoint of the Tinker protocol, by path below /api/v1. Requests are strict, as servers may
 * refuse fields they do not know; answers may carry more than is read.
 */
import { z } from 'zod'

const type = <T extends string>(name: T) => z.literal(name).optional()
const text = z.string()
const seq = z.int().min(0)
const metadata = z.record(text, z.unknown())

/** Long arrays of numbers are checked without an object for each; null stands for a number that JSON cannot say. */
const numbers = z.custom<(number | null)[]>(
  (value) => Array.isArray(value) && value.every((item) => item === null || typeof item === 'number'),
  'an array of numbers belongs here',
)
const integers = z.custom<number[]>(
  (value) => Array.isArray(value) && value.every((item) => Number.isInteger(item)),
  'an array of integers belongs here',
)

export const tensorJson = z.strictObject({
  data: numbers,
  dtype: z.enum(['int64', 'float32']),
  shape: integers.nullish(),
})

export const modelInputJson = z.strictObject({
  chunks: z.array(z.strictObject({ type: type('encoded_text'), tokens: integers })),
})

export const trainInputJson = z.strictObject({
  data: z.array(z.strictObject({ model_input: modelInputJson, loss_fn_inputs: z.record(text, tensorJson) })),
  loss_fn: text,
  loss_fn_config: z.record(text, z.number()).nullish(),
})

export const adamParamsJson = z.strictObject({
  learning_rate: z.number(),
  beta1: z.number(),
  beta2: z.number(),
  eps: z.number(),
  weight_decay: z.number(),
  grad_clip_norm: z.number(),
})

export const loraConfigJson = z.strictObject({
  rank: z.int().min(0),
  seed: z.int().nullish(),
  train_unembed: z.boolean().optional(),
  train_mlp: z.boolean().optional(),
  train_attn: z.boolean().optional(),
})

export const samplingParamsJson = z.strictObject({
  max_tokens: z.int().min(1),
  seed: z.int().min(0).optional(),
  stop: z.union([z.array(text), integers]).optional(),
  temperature: z.number().min(0).optional(),
  top_k: z.int().optional(),
  top_p: z.number().optional(),
})

const modelRequest = <T extends string>(name: T) => ({ model_id: text, seq_id: seq, type: type(name) })

export const requests = {
  'client/config': z.strictObject({ sdk_version: text }),
  'auth/token': z.strictObject({}),
  create_session: z.strictObject({
    tags: z.array(text),
    user_metadata: metadata,
    sdk_version: text,
    project_id: text.optional(),
    type: type('create_session'),
  }),
  session_heartbeat: z.strictObject({ session_id: text, type: type('session_heartbeat') }),
  create_model: z.strictObject({
    session_id: text,
    model_seq_id: seq,
    base_model: text,
    user_metadata: metadata.optional(),
    lora_config: loraConfigJson.optional(),
    type: type('create_model'),
  }),
  get_info: z.strictObject({ model_id: text, type: type('get_info') }),
  unload_model: z.strictObject({ model_id: text, type: type('unload_model') }),
  forward_backward: z.strictObject({ model_id: text, seq_id: seq, forward_backward_input: trainInputJson }),
  forward: z.strictObject({ model_id: text, seq_id: seq, forward_input: trainInputJson }),
  optim_step: z.strictObject({ ...modelRequest('optim_step'), adam_params: adamParamsJson }),
  save_weights: z.strictObject({
    ...modelRequest('save_weights'),
    path: text,
    ttl_seconds: z.int().optional(),
    overwrite: z.boolean().optional(),
  }),
  save_weights_for_sampler: z.strictObject({
    ...modelRequest('save_weights_for_sampler'),
    path: text.optional(),
    sampling_session_seq_id: seq.optional(),
    ttl_seconds: z.int().optional(),
  }),
  load_weights: z.strictObject({ ...modelRequest('load_weights'), path: text, optimizer: z.boolean() }),
  weights_info: z.strictObject({ tinker_path: text }),
  create_sampling_session: z.strictObject({
    session_id: text,
    sampling_session_seq_id: seq,
    base_model: text.optional(),
    model_path: text.optional(),
    type: type('create_sampling_session'),
  }),
  asample: z.strictObject({
    sampling_session_id: text,
    seq_id: seq,
    num_samples: z.int().min(1),
    prompt: modelInputJson,
    sampling_params: samplingParamsJson,
    prompt_logprobs: z.boolean().optional(),
    topk_prompt_logprobs: z.int().min(0).optional(),
    type: type('sample'),
  }),
  retrieve_future: z.strictObject({ request_id: text, allow_metadata_only: z.boolean().optional() }),
}

export type RequestPath = keyof typeof requests
export type RequestBody<P extends RequestPath> = z.input<(typeof requests)[P]>

/** The handle of an asynchronous request. */
export const futureHandle = z.object({ request_id: text, model_id: text.nullish() })

const metrics = z.record(text, z.number().nullable())
const savedPath = z.object({ path: text })

export const sampleResultJson = z.object({
  sequences: z.array(
    z.object({ stop_reason: z.enum(['stop', 'length']), tokens: integers, logprobs: numbers.nullish() }),
  ),
  prompt_logprobs: numbers.nullish(),
  topk_prompt_logprobs: z.array(z.array(z.tuple([z.int(), z.number()])).nullable()).nullish(),
})

export const trainResultJson = z.object({
  loss_fn_output_type: text,
  loss_fn_outputs: z.array(
    z.record(
      text,
      z.object({ data: numbers, dtype: z.enum(['int64', 'float32']), shape: integers.nullish() }),
    ),
  ),
  metrics,
})

/** Answers of synchronous endpoints, and what futures of the others resolve to. */
export const answers = {
  healthz: z.object({ status: text }),
  get_server_capabilities: z.object({
    supported_models: z.array(
      z.object({
        model_name: text,
        max_context_length: z.int().nullish(),
        trainable: z.boolean().nullish(),
        sampleable: z.boolean().nullish(),
        capabilities: z.array(text).nullish(),
      }),
    ),
  }),
  'client/config': z.object({
    pjwt_auth_enabled: z.boolean().nullish(),
    parallel_fwdbwd_chunks: z.boolean().nullish(),
    fwdbwd_max_chunk_len: z.int().positive().nullish(),
    fwdbwd_max_chunk_bytes_count: z.int().positive().nullish(),
    sample_dispatch_bytes_semaphore_size: z.int().positive().nullish(),
    inflight_response_bytes_semaphore_size: z.int().positive().nullish(),
    fwdbwd_dispatch_bytes_semaphore_size: z.int().positive().nullish(),
    sample_max_concurrent_requests: z.int().positive().nullish(),
    billing_exception_max_pause_duration_sec: z.number().positive().nullish(),
  }),
  'auth/token': z.object({ jwt: text }),
  create_session: z.object({
    session_id: text,
    info_message: text.nullish(),
    warning_message: text.nullish(),
    error_message: text.nullish(),
  }),
  session_heartbeat: z.object({}),
  create_model: z.object({ model_id: text }),
  get_info: z.object({
    model_id: text,
    model_data: z
      .object({ model_name: text.nullish(), base_model: text.nullish(), tokenizer_id: text.nullish() })
      .nullish(),
    is_lora: z.boolean().nullish(),
    lora_rank: z.int().nullish(),
  }),
  unload_model: z.object({}),
  forward_backward: trainResultJson,
  forward: trainResultJson,
  optim_step: z.object({ metrics: metrics.nullish() }),
  save_weights: savedPath,
  save_weights_for_sampler: z.object({ path: text.nullish(), sampling_session_id: text.nullish() }),
  load_weights: z.object({}),
  weights_info: z.object({
    base_model: text,
    is_lora: z.boolean(),
    lora_rank: z.int().nullish(),
    train_unembed: z.boolean().nullish(),
    train_mlp: z.boolean().nullish(),
    train_attn: z.boolean().nullish(),
  }),
  create_sampling_session: z.object({ sampling_session_id: text }),
  asample: sampleResultJson,
  checkpoints: z.object({
    checkpoints: z.array(
      z.object({
        checkpoint_id: text,
        checkpoint_type: z.enum(['training', 'sampler']),
        time: text,
        tinker_path: text,
        size_bytes: z.number().nullish(),
      }),
    ),
  }),
}

export type AnswerPath = keyof typeof answers
export type Answer<P extends AnswerPath> = z.output<(typeof answers)[P]>

/** What `retrieve_future` says where it does not give the result itself. */
export const notReady = z.object({
  type: z.literal('try_again'),
  queue_state: text.nullish(),
  queue_state_reason: text.nullish(),
})
export const sizeOnly = z.object({
  status: z.literal('complete_metadata'),
  response_payload_size: z.number().min(0),
})
export const failed = z.object({ error: text, category: text.nullish() })
