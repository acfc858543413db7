import { defineConfig } from 'vitest/config'

/** Tests run on the compiled output, so that what is tested is what ships (worker threads and child processes included). */
export default defineConfig({
  test: {
    include: ['dist/**/*.test.js'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
