/**
 * Data that a game reads once and keeps for the run. A game's state is what a checkpoint must hold; problems, texts and
 * tokenised conversations are not, so they are kept beside the run's settings and go with them.
 */
export function oncePerRun<Context extends { config: unknown }, T>(
  load: (ctx: Context) => Promise<T>,
): (ctx: Context) => Promise<T> {
  const kept = new WeakMap<object, Promise<T>>()
  return (ctx) => {
    const run = ctx.config as object
    let value = kept.get(run)
    if (value === undefined) {
      value = load(ctx)
      kept.set(run, value)
    }
    return value
  }
}
