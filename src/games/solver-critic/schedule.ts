/** Whose turn it is: pure functions of the round, so that a resumed run needs no cursor. */
import type { Config } from './config.js'

type Turns = Pick<Config, 'frozen' | 'warmup' | 'solver_turns' | 'critic_turns'>

/** First the critic alone, then `solver_turns` rounds of the solver to `critic_turns` of the critic, for ever. */
export function learnerOf(round: number, turns: Turns): 'solver' | 'critic' {
  if (turns.frozen === 'critic') return 'solver'
  if (round < turns.warmup) return 'critic'
  const { solver_turns: solver, critic_turns: critic } = turns
  return (round - turns.warmup) % (solver + critic) < solver ? 'solver' : 'critic'
}

/** Whether the critic is compared with its copy: in the first of its rounds, and every `drift_every` of them. */
export function comparesWithStart(round: number, config: Turns & Pick<Config, 'drift_every'>): boolean {
  if (config.drift_every === 0 || learnerOf(round, config) !== 'critic') return false
  return criticRounds(round, config) % config.drift_every === 0
}

/** Rounds of the critic before this one. */
function criticRounds(round: number, { warmup, solver_turns, critic_turns }: Turns): number {
  if (round <= warmup) return round
  const whole = solver_turns + critic_turns
  const since = round - warmup
  const inCycle = Math.max(0, (since % whole) - solver_turns)
  return warmup + Math.floor(since / whole) * critic_turns + inCycle
}
