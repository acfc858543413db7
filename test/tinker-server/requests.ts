/** Bodies of the requests as a server reads them, by route; and how it says that one is wrong. */
import { z } from 'zod'
import type { Profile } from './dialects.js'
import { Refusal } from './errors.js'

const text = z.string()
const int = z.int()
const literal = (name: string) => z.literal(name).nullish()
const record = z.record(text, z.unknown())

const numbers = z.custom<(number | null)[]>(
  (value) => Array.isArray(value) && value.every((item) => item === null || typeof item === 'number'),
  'Input should be a valid list of numbers',
)
const tokens = z.custom<number[]>(
  (value) => Array.isArray(value) && value.every((item) => Number.isInteger(item)),
  'Input should be a valid list of integers',
)

/** Schemas of every route. Where `strict`, unknown fields are refused; else they are passed over. */
function schemasFor({ strictFields: strict, dialect, nothing }: Profile) {
  const object = <S extends z.ZodRawShape>(shape: S) => (strict ? z.strictObject(shape) : z.object(shape))
  const chunk = object({ type: literal('encoded_text'), tokens })
  const modelInput = object({ chunks: z.array(chunk) })
  const tensor = object({
    data: numbers,
    dtype: z.enum(['int64', 'float32']).nullish(),
    shape: z.array(int).nullish(),
  })
  const trainInput = object({
    data: z.array(object({ model_input: modelInput, loss_fn_inputs: z.record(text, tensor) })),
    loss_fn: text,
    loss_fn_config: z.record(text, z.number()).nullish(),
  })
  // Only SkyRL and Open-RL take a request without a number.
  const numbered = strict ? int.min(dialect === 'hosted' ? 1 : 0) : int.nullish()
  const training = { model_id: text, seq_id: numbered }
  const loraConfig = object({
    rank: int.min(0),
    seed: int.nullish(),
    train_unembed: z.boolean().default(true),
    train_mlp: z.boolean().default(true),
    train_attn: z.boolean().default(true),
  })
  const lists = [z.array(int), z.array(text)] as const
  const stop = z.union(dialect === 'skyrl' ? lists : [text, ...lists])
  // Fields that hosted has learned since SDK 0.25, in the values that SDK 0.38 sends by default.
  const newer = <S extends z.ZodRawShape>(shape: S): S | Record<never, never> =>
    dialect === 'hosted' ? shape : {}
  return {
    'client/config': object({ sdk_version: text }),
    'client/dynamic_config': object({ sdk_version: text }),
    'auth/token': object({}),
    telemetry: z.object({ events: z.array(z.unknown()) }),
    create_session: object({
      tags: z.array(text),
      user_metadata:
        dialect === 'tuft' ? record : dialect === 'hosted' ? record.nullable() : record.nullish(),
      sdk_version: text,
      project_id: text.nullish(),
      ...newer({ display_name: text.nullish() }),
      type: literal('create_session'),
    }),
    session_heartbeat: object({ session_id: text, type: literal('session_heartbeat') }),
    create_model: object({
      session_id: text,
      model_seq_id: strict ? int.min(0) : int.nullish(),
      base_model: text,
      user_metadata: record.nullish(),
      lora_config: loraConfig.nullish(),
      ...newer({ optimizer_config: object({ type: z.literal('adamw') }).nullish() }),
      type: literal('create_model'),
    }),
    get_info: object({ model_id: text, type: literal('get_info') }),
    unload_model: object({ model_id: text, type: literal('unload_model') }),
    delete_model: object({ model_id: text }),
    forward_backward: object({ ...training, forward_backward_input: trainInput }),
    forward: object({ ...training, forward_input: trainInput }),
    optim_step: object({
      ...training,
      type: literal('optim_step'),
      adam_params: object({
        learning_rate: z.number().min(0).default(1e-4),
        beta1: z.number().min(0).lt(1).default(0.9),
        beta2: z.number().min(0).lt(1).default(0.95),
        eps: z.number().positive().default(1e-12),
        weight_decay: z.number().min(0).default(0),
        grad_clip_norm: z.number().min(0).default(0),
      }),
    }),
    save_weights: object({
      ...training,
      path: dialect === 'skyrl' ? text : text.nullish(),
      ttl_seconds: int.nullish(),
      overwrite: z.boolean().nullish(),
      ...newer({ user_metadata: record.nullish() }),
      type: literal('save_weights'),
    }),
    save_weights_for_sampler: object({
      ...training,
      path: text.nullish(),
      sampling_session_seq_id: int.nullish(),
      ttl_seconds: int.nullish(),
      ...newer({ user_metadata: record.nullish(), kind: z.literal('snapshot').nullish() }),
      type: literal('save_weights_for_sampler'),
    }),
    load_weights: object({
      ...training,
      path: text,
      optimizer: strict ? z.boolean() : z.boolean().default(true),
      weights_access_token: text.nullish(),
      type: literal('load_weights'),
    }),
    // A model made from saved weights in one request, as SDK 0.38 asks hosted for it.
    load_as_model: object({
      session_id: text,
      model_seq_id: int.min(0),
      base_model: text.nullish(),
      user_metadata: record.nullish(),
      path: text,
      optimizer: z.boolean(),
      optimizer_config: object({ type: z.literal('adamw') }).nullish(),
      weights_access_token: text.nullish(),
      type: literal('load_weights'),
    }),
    weights_info: object({ tinker_path: text }),
    create_sampling_session: object({
      session_id: text,
      sampling_session_seq_id: int.min(0),
      base_model: text.nullish(),
      model_path: text.nullish(),
      type: literal('create_sampling_session'),
    }),
    asample: object({
      sampling_session_id: dialect === 'tuft' ? text : text.nullish(),
      base_model: text.nullish(),
      model_path: text.nullish(),
      seq_id: dialect === 'tuft' ? int : int.nullish(),
      num_samples: (nothing === 'refused' ? int.min(1) : int.min(0)).default(1),
      prompt: modelInput,
      sampling_params: object({
        max_tokens: int.nullish(),
        seed: (dialect === 'skyrl' ? int : int.min(0)).nullish(),
        stop: stop.nullish(),
        temperature: z.number().min(0).default(1),
        top_k: int.default(-1),
        top_p: z.number().gt(0).max(1).default(1),
      }),
      prompt_logprobs: z.boolean().nullish(),
      topk_prompt_logprobs: int.min(0).default(0),
      ...newer({
        topk_sample_logprobs: z.literal(0).nullish(),
        prompt_alt_tokens_k: z.literal(0).nullish(),
        record_stability_info: z.boolean().nullish(),
      }),
      type: literal('sample'),
    }),
    retrieve_future: object({ request_id: text, allow_metadata_only: z.boolean().nullish() }),
    ttl: object({ ttl_seconds: int.nullable() }),
  }
}

export type Schemas = ReturnType<typeof schemasFor>
export type Body<R extends keyof Schemas> = z.output<Schemas[R]>

export class Requests {
  readonly #schemas: Schemas

  constructor(profile: Profile) {
    this.#schemas = schemasFor(profile)
  }

  /** Throws a Refusal with status 422 that says which fields are wrong. */
  read<R extends keyof Schemas>(route: R, body: unknown): Body<R> {
    const read = this.#schemas[route].safeParse(body)
    if (read.success) return read.data as Body<R>
    const detail = read.error.issues.map((issue) => ({
      type: issue.code === 'unrecognized_keys' ? 'extra_forbidden' : issue.code,
      loc: ['body', ...issue.path, ...(issue.code === 'unrecognized_keys' ? issue.keys : [])],
      msg: issue.message,
    }))
    throw new Refusal(422, detail)
  }
}
