/**
 * A client of the Tinker protocol: LoRA training and sampling on a service that holds the weights, while tokens, data and
 * grading stay here. Servers speak it in dialects; the client makes them one.
 */
export type * from './client.js'
export * from './errors.js'
export { type DialectName, type LossName, type Profile, profiles } from './profile.js'
export { connect } from './service.js'
export { cutAtString, planStop } from './stop.js'
export type { SampledSequence, TopkLogprobs } from './wire/messages.js'
