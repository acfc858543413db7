/** Saved weights: their names, their paths, and the archives that they leave the server in. They outlive a restart. */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Profile } from './dialects.js'
import { Refusal } from './errors.js'
import type { Adapter } from './weights.js'

export type CheckpointKind = 'weights' | 'sampler_weights'

export interface Checkpoint {
  run: string
  name: string
  kind: CheckpointKind
  folder: string
  path: string
  base: string
  adapter: Adapter
  trains: { train_unembed: boolean; train_mlp: boolean; train_attn: boolean }
  ready: boolean
  time: string
  public: boolean
  expires?: string
}

export class Checkpoints {
  readonly #byKey = new Map<string, Checkpoint>()
  readonly #counts = new Map<string, number>()

  constructor(
    private readonly profile: Profile,
    private readonly root: string,
  ) {}

  /**
   * Room for a save. Throws a Refusal where the name is not allowed, or where it is taken and the server never writes a
   * name twice.
   */
  reserve(
    about: Pick<Checkpoint, 'run' | 'kind' | 'base' | 'adapter' | 'trains'>,
    name: string | undefined,
    options: { ttl?: number | null | undefined } = {},
  ): Checkpoint {
    const { pattern, unique } = this.profile.names
    const { run, kind } = about
    if (name !== undefined && pattern && !pattern.test(name))
      throw new Refusal(422, `path: '${name}' should match pattern '${pattern.source}'`)
    const given = name ?? this.#numbered(run, kind)
    if (unique === 'always' && this.#byKey.has(keyOf(run, kind, given)))
      throw new Refusal(409, `Checkpoint '${given}' already exists for model '${run}'`)
    const folder = join(this.root, run.replaceAll(':', '_'), kind, given)
    const checkpoint: Checkpoint = {
      ...about,
      name: given,
      folder,
      path: this.#pathOf(run, kind, given),
      ready: false,
      time: new Date().toISOString(),
      public: false,
      ...(options.ttl != null && { expires: new Date(Date.now() + 1000 * options.ttl).toISOString() }),
    }
    if (unique === 'always') this.#byKey.set(keyOf(run, kind, given), checkpoint)
    return checkpoint
  }

  has(run: string, kind: CheckpointKind, name: string): boolean {
    return this.#byKey.get(keyOf(run, kind, name))?.ready === true
  }

  /** The files are written: from now on the checkpoint is found. */
  written(checkpoint: Checkpoint): void {
    checkpoint.ready = true
    this.#byKey.set(keyOf(checkpoint.run, checkpoint.kind, checkpoint.name), checkpoint)
  }

  drop({ run, kind, name }: Checkpoint): void {
    this.#byKey.delete(keyOf(run, kind, name))
  }

  /** What a tinker:// path names. */
  find(path: string): Checkpoint | undefined {
    const [, run, rest] = /^tinker:\/\/([^/]+)\/(.+)$/.exec(path) ?? []
    if (run === undefined) return undefined
    const [, kind, name] = /^(weights|sampler_weights)\/([^/]+)$/.exec(rest!) ?? []
    if (kind !== undefined) return this.get(run, kind as CheckpointKind, name!)
    return this.profile.dialect === 'skyrl' ? this.get(run, 'sampler_weights', rest!) : undefined
  }

  get(run: string, kind: CheckpointKind, name: string): Checkpoint | undefined {
    return this.#byKey.get(keyOf(run, kind, name))
  }

  /** Of a run, or of all. */
  list(run?: string): Checkpoint[] {
    return [...this.#byKey.values()].filter((c) => c.ready && (run === undefined || c.run === run))
  }

  async delete(checkpoint: Checkpoint): Promise<void> {
    this.drop(checkpoint)
    await rm(checkpoint.folder, { recursive: true, force: true })
  }

  #numbered(run: string, kind: CheckpointKind): string {
    const key = `${run}/${kind}`
    const count = (this.#counts.get(key) ?? 0) + 1
    this.#counts.set(key, count)
    if (this.profile.dialect === 'openrl') return `sampler-${count}`
    return `checkpoint-${String(count).padStart(4, '0')}`
  }

  #pathOf(run: string, kind: CheckpointKind, name: string): string {
    const short = this.profile.dialect === 'skyrl' && kind === 'sampler_weights'
    return short ? `tinker://${run}/${name}` : `tinker://${run}/${kind}/${name}`
  }
}

const keyOf = (run: string, kind: CheckpointKind, name: string) => `${run}\n${kind}\n${name}`

/** The PEFT adapter as a gzipped tar file; it names its base model as the server does, not the folder behind it. */
export async function archiveOf({ folder, base }: Checkpoint): Promise<Buffer> {
  const config = JSON.parse(await readFile(join(folder, 'adapter_config.json'), 'utf8'))
  const files: [string, Buffer][] = [
    [
      'adapter_config.json',
      Buffer.from(JSON.stringify({ ...config, base_model_name_or_path: base }, null, 2)),
    ],
  ]
  const tensors = await readFile(join(folder, 'adapter_model.safetensors')).catch(() => undefined)
  if (tensors) files.push(['adapter_model.safetensors', tensors])
  return gzipSync(tar(files))
}

/** POSIX ustar. */
function tar(files: [name: string, content: Buffer][]): Buffer {
  const parts: Buffer[] = []
  for (const [name, content] of files) {
    const header = Buffer.alloc(512)
    const octal = (value: number, at: number, digits: number) =>
      header.write(`${value.toString(8).padStart(digits, '0')}\0`, at, 'latin1')
    header.write(name, 0, 'latin1')
    octal(0o644, 100, 7)
    octal(0, 108, 7)
    octal(0, 116, 7)
    octal(content.length, 124, 11)
    octal(0, 136, 11)
    header.write('        0', 148, 'latin1')
    header.write('ustar\x0000', 257, 'latin1')
    octal(
      header.reduce((sum, byte) => sum + byte, 0),
      148,
      6,
    )
    parts.push(header, content, Buffer.alloc((512 - (content.length % 512)) % 512))
  }
  return Buffer.concat([...parts, Buffer.alloc(1024)])
}
