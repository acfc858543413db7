/** The wire formats of the Tinker protocol, in both directions. */
export * from './wire/bytes.js'
export * from './wire/endpoints.js'
export * from './wire/json.js'
export * from './wire/messages.js'
export * from './wire/protobuf.js'
