/** An in-repository server of the Tinker protocol in four dialects, with real weights behind it. */
export type { Dialect } from './dialects.js'
export type { Fault, Misfortune } from './faults.js'
export type { Logged } from './log.js'
export type { Script } from './scripted.js'
export { startTinkerServer, type TinkerServer, type TinkerServerOptions } from './server.js'
export type { AppliedStep } from './world.js'
