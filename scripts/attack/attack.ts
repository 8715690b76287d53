import type { Target, TargetOptions } from './target.ts'

/** What did not hold, with the request that shows it. */
export type Failure = { what: string; request: string | Buffer }

/** What became of an attack. */
export type Outcome = {
  tried: number
  failures: Failure[]
  /** Numbers worth a look, by name. */
  figures?: Record<string, string | number>
}

/** How much of an attack is tried: all of it, or as much as fits among the tests. */
export type Dose = 'full' | 'quick'

export type Context = {
  target: Target
  /** Starts a further gateway, with other settings. */
  start(
    options?: Pick<TargetOptions, 'limits' | 'routes' | 'openFilesMax' | 'dataDir'>,
  ): Promise<Target>
  /** How many requests the operator's server was sent for a model of its own. */
  asked(model: string): number
  seed: number
  dose: Dose
  /** How long an attack without an end of its own goes on. */
  durationMs: number
  /** The checkout whose gateway is attacked. */
  project: string
  /** For what an attack writes; removed at the end. */
  folder: string
}

export type Attack = {
  name: string
  /** It gets a gateway of its own, so that what others left behind hides nothing. */
  needsFresh?: true
  /** The seed decides all that it sends, so that another one is another attack. */
  isDrawn?: true
  /** It starts gateways by itself, and kills or starves them. */
  startsOwn?: true
  /** Its gateway gives callers and vendors little time, so that it comes to an end soon. */
  isHurried?: true
  run(context: Context): Promise<Outcome>
}

/** What different failures have in common, so that each kind is shown once. */
export function kindOf({ what }: Failure): string {
  return what.replaceAll(/req_[0-9a-f]+|\d+|'[^']*'|"[^"]*"/g, '…')
}
