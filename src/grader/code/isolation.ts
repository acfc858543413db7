/**
 * Layers between a program and the machine, as the commands that put them in place. Each command ends in a shell that
 * stays the program's parent, so that a program which kills its parent only ends itself.
 */
import { existsSync, lstatSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * `namespaces`: own processes, file system, network and IPC. `user`: a user id of its own, where Sparring runs as root.
 * `process`: resource limits alone. Strongest first.
 */
export const isolations = ['namespaces', 'user', 'process'] as const
export type Isolation = (typeof isolations)[number]

/** Where the program's file system is put together: a folder that Linux always has and no interpreter lives in. */
const STAGE = '/sys'
const JAIL = `${STAGE}/jail`

export const isRoot = process.getuid?.() === 0

export interface Launch {
  /** Files and folders that the interpreter needs, beside the system's. */
  needs: string[]
  /** Size of the working folder in memory, MiB. */
  folderMb: number
  /** User the program runs as, where Sparring is root. */
  uid: number
  /** Limits by their names in prlimit(1). */
  limits: Record<string, number | string>
  /** False: with the shell's own limits, where the system has no prlimit and setpriv. */
  tools: boolean
}

/** The command that runs `program` behind a layer. */
export function launchCommand(isolation: Isolation, launch: Launch, program: string[]): string[] {
  const shell = (script: string, args: string[]) => ['sh', '-c', script, 'sh', ...args]
  if (!launch.tools) return shell(`${shellLimits(launch.limits)}\n"$@"\nexit $?`, program)

  const ending = ['setpriv', '--pdeathsig', 'KILL']
  const user = [`--reuid=${launch.uid}`, `--regid=${launch.uid}`, '--clear-groups']
  const limits = Object.entries(launch.limits).map(([name, value]) => `--${name}=${value}`)
  const limited = ['prlimit', ...limits, '--', ...program]
  const powerless = ['--no-new-privs', '--bounding-set=-all', '--inh-caps=-all']
  const first = '2>/dev/null echo 1000 >/proc/self/oom_score_adj || :'

  if (isolation === 'namespaces') {
    const namespaces = ['--pid', '--fork', '--kill-child', '--mount', '--net', '--ipc', '--uts']
    const unshare = ['unshare', ...(isRoot ? [] : ['--user', '--map-root-user']), ...namespaces]
    const inside = ['setpriv', ...(isRoot ? user : []), ...powerless, ...limited]
    return [...ending, ...unshare, ...shell(`${first}\n${jailScript(launch)}`, inside)]
  }
  const lowered = isolation === 'user' ? [...user, ...powerless] : ['--no-new-privs']
  return [...ending, ...shell(`${first}\n"$@"\nexit $?`, [...ending, ...lowered, ...limited])]
}

/**
 * Builds a root folder that holds the system's programs and the interpreter (read-only) and an empty working folder,
 * makes it the only file system there is, and runs the arguments in it. A process whose root was changed by chroot
 * may create no user namespace, so no capability can be had again.
 */
function jailScript({ needs, folderMb }: Launch): string {
  const folders = [`${JAIL}/proc`, `${JAIL}/dev`, `${JAIL}/tmp`, `${STAGE}/old`]
  const files: string[] = []
  const links = [
    ['jail/proc', `${STAGE}/proc`],
    ['/tmp', `${JAIL}/dev/shm`],
  ]
  const copied: string[] = []
  const mounts: string[] = []
  const bind = (path: string, options = 'ro,nosuid,nodev') => {
    const isFolder = statSync(path).isDirectory()
    folders.push(JAIL + (isFolder ? path : dirname(path)))
    if (!isFolder) files.push(JAIL + path)
    mounts.push(`${fstabPath(path)} ${fstabPath(JAIL + path)} none bind,${options}`)
  }

  for (const path of ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/nix'].filter(existsSync)) {
    if (lstatSync(path).isSymbolicLink()) {
      copied.push(path)
    } else {
      links.push([`jail${path}`, STAGE + path])
      bind(path)
    }
  }
  for (const path of ['/etc/alternatives', '/etc/ld.so.cache', ...needs].filter(existsSync)) bind(path)
  for (const name of ['null', 'zero', 'full', 'random', 'urandom']) bind(`/dev/${name}`, 'nosuid,noexec')
  mounts.push(`proc ${JAIL}/proc proc nosuid,nodev,noexec`)
  mounts.push(`work ${JAIL}/tmp tmpfs mode=1777,size=${folderMb}m,nr_inodes=10k,nosuid,nodev`)

  return [
    'set -e',
    `mount -t tmpfs -o mode=755,size=1m stage ${STAGE}`,
    `mkdir -p ${folders.map(quote).join(' ')}`,
    ...files.map((path) => `: >${quote(path)}`),
    ...links.map(([target, path]) => `ln -s ${target} ${path}`),
    `cp -P /dev/fd /dev/stdin /dev/stdout /dev/stderr ${JAIL}/dev`,
    ...(copied.length > 0 ? [STAGE, JAIL].map((root) => `cp -P ${copied.join(' ')} ${root}`) : []),
    `printf '%s\\n' ${mounts.map(quote).join(' ')} >${STAGE}/fstab`,
    `mount -a -T ${STAGE}/fstab`,
    '2>/dev/null echo 0 >/proc/sys/kernel/shmmni || :',
    `cd ${STAGE}`,
    'pivot_root . old',
    'umount -l /old',
    'set +e',
    'chroot /jail env -C /tmp "$@"',
    'exit $?',
  ].join('\n')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

function fstabPath(path: string): string {
  return path
    .replaceAll('\\', '\\134')
    .replaceAll(' ', '\\040')
    .replaceAll('\t', '\\011')
    .replaceAll('\n', '\\012')
}

/** The same limits in the words of shells, which differ in the letter for processes and may know fewer of them. */
function shellLimits(limits: Record<string, number | string>): string {
  const set = (flag: string, value: number | string | undefined, unit = 1) =>
    value === undefined
      ? ':'
      : `2>/dev/null ulimit -${flag} ${Math.floor(Number.parseInt(String(value), 10) / unit)}`
  return [
    `${set('t', limits.cpu)} || :`,
    `${set('d', limits.data, 1024)} || :`,
    `${set('v', limits.as, 1024)} || :`,
    `${set('f', limits.fsize, 512)} || :`,
    `${set('n', limits.nofile)} || :`,
    `${set('u', limits.nproc)} || ${set('p', limits.nproc)} || :`,
    `${set('c', limits.core)} || :`,
  ].join('\n')
}
