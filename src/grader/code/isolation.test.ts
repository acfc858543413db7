import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { launchCommand } from './isolation.js'

const limits = { cpu: '7:8', data: 512 * 2 ** 20, fsize: 2 ** 20, nofile: 50, nproc: 5000, core: 0 }
const launch = { needs: [], folderMb: 1, uid: 0x40000000, limits }

function run(tools: boolean, script: string) {
  const [command, ...args] = launchCommand('process', { ...launch, tools }, ['sh', '-c', script])
  return spawnSync(command!, args, { encoding: 'utf8' })
}

describe.each([true, false])('limits, with prlimit %s', (tools) => {
  it('are those of the program', () => {
    const { stdout, stderr } = run(tools, 'ulimit -t; ulimit -d; ulimit -n; ulimit -c')
    expect([stdout, stderr]).toEqual(['7\n524288\n50\n0\n', ''])
  })

  it('leave status and output alone', () => {
    const { stdout, status } = run(tools, 'echo "a  b"; exit 7')
    expect([stdout, status]).toEqual(['a  b\n', 7])
    expect(run(tools, 'kill -9 $$').status).toBe(137)
  })
})
