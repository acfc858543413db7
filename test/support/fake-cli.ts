/** `sparring train` with the fake engine and game: `fake-cli.js RECIPE FLAGS-AS-JSON`, with the command line's exit statuses. */
import { reportFailure } from '../../src/cli/failure.js'
import { type TrainFlags, train } from '../../src/cli/train.js'
import { fakeParts } from './fake-parts.js'

const [recipe, json] = process.argv.slice(2)
const flags: TrainFlags = JSON.parse(json!)
try {
  await train(recipe || undefined, { ...flags, set: flags.set ?? [] }, fakeParts())
} catch (error) {
  process.exitCode = reportFailure(error, { json: flags.json ?? false, debug: false })
}
