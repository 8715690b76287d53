import type { Target, TargetOptions } from './target.ts'

/** A violation of documented behaviour, with a request that shows it. */
export type Failure = { what: string; request: string | Buffer }

/** The result of an attack. */
export type Outcome = {
  tried: number
  failures: Failure[]
  /** Additional numbers for the report, by name. */
  figures?: Record<string, string | number>
}

/** The size of an attack: the full attack, or a part that is quick enough for the tests. */
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
  /** The duration of attacks that run until time is up. */
  durationMs: number
  /** The checkout whose gateway is attacked. */
  project: string
  /** A folder for files of the attack; removed at the end. */
  folder: string
}

export type Attack = {
  name: string
  /** Needs a new gateway, because requests of other attacks would change the measurements. */
  needsFresh?: true
  /** The seed decides all requests, so that another seed makes another attack. */
  isDrawn?: true
  /** Starts its own gateways, because it kills them or takes their resources. */
  startsOwn?: true
  /** Needs a gateway with short timeouts, so that the attack ends soon. */
  isHurried?: true
  run(context: Context): Promise<Outcome>
}

/** The text of a failure without ids, numbers and quotes, to group failures. */
export function kindOf({ what }: Failure): string {
  return what.replaceAll(/req_[0-9a-f]+|\d+|'[^']*'|"[^"]*"/g, '…')
}
