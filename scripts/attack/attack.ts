import type { Target, TargetOptions } from './target.ts'

/** A broken promise, with the request that shows it. */
export type Failure = { what: string; request: string | Buffer }

/** The result of an attack. */
export type Outcome = {
  tried: number
  failures: Failure[]
  /** Further numbers of the report, by name. */
  figures?: Record<string, string | number>
}

/** The size of an attack: all of it, or a part that is quick enough for the tests. */
export type Dose = 'full' | 'quick'

export type Context = {
  target: Target
  /** Starts another gateway, with other settings. */
  start(
    options?: Pick<TargetOptions, 'limits' | 'routes' | 'openFilesMax' | 'dataDir'>,
  ): Promise<Target>
  /** The number of requests for a model that the operator's own server received. */
  asked(model: string): number
  seed: number
  dose: Dose
  /** The duration of an attack that has no end of its own. */
  durationMs: number
  /** The checkout whose gateway is attacked. */
  project: string
  /** A folder for files of the attack; removed at the end. */
  folder: string
}

export type Attack = {
  name: string
  /** Needs a new gateway, so that leftovers of other attacks do not change the measurements. */
  needsFresh?: true
  /** The seed decides all requests, so that another seed makes another attack. */
  isDrawn?: true
  /** Starts its own gateways, and kills or starves them. */
  startsOwn?: true
  /** Needs a gateway with short timeouts, so that it ends soon. */
  isHurried?: true
  run(context: Context): Promise<Outcome>
}

/** The text of a failure without ids, numbers and quotes, to group failures. */
export function kindOf({ what }: Failure): string {
  return what.replaceAll(/req_[0-9a-f]+|\d+|'[^']*'|"[^"]*"/g, '…')
}
