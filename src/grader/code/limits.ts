import type { Language } from './task.js'

/** What a program may use. */
export interface Limits {
  /** Time of a test by the clock, milliseconds. @default 10000 */
  wallMs: number
  /** Memory of each process, and of all processes of a program together, MiB. @default 1024 */
  memoryMb: number
  /** What a test writes: standard output, standard error and messages to the grader together, MiB. @default 16 */
  outputMb: number
  /** A file, MiB. @default 16 */
  fileMb: number
  /** The working folder, MiB, where it lies in memory. @default 64 */
  folderMb: number
  /** Processes and threads. @default 64 */
  processes: number
  /** Open files of a process. @default 128 */
  openFiles: number
}

export const defaultLimits: Limits = {
  wallMs: 10_000,
  memoryMb: 1024,
  outputMb: 16,
  fileMb: 16,
  folderMb: 64,
  processes: 64,
  openFiles: 128,
}

export const MIB = 2 ** 20

/** V8 needs memory beside its heap: code, stacks of a dozen threads, young objects. */
const overheadMb: Record<Language, number> = { python: 0, javascript: 256 }

/** All memory that a program may hold, MiB. */
export function totalMemoryMb(language: Language, { memoryMb }: Limits): number {
  return memoryMb + overheadMb[language]
}

/**
 * Limits by their names in prlimit(1), sizes in bytes. Address space says nothing of JavaScript, whose engine reserves
 * gigabytes that it never touches.
 */
export function resourceLimits(
  language: Language,
  limits: Limits,
  cpuSeconds: number,
): Record<string, number | string> {
  const memory = totalMemoryMb(language, limits) * MIB
  return {
    cpu: `${cpuSeconds}:${cpuSeconds + 1}`,
    data: memory,
    ...(language === 'python' && { as: memory }),
    fsize: limits.fileMb * MIB,
    nofile: limits.openFiles,
    nproc: limits.processes,
    core: 0,
  }
}
