/**
 * Bounds that tests lower. No setting names them: each is a constant, with its reason, beside what it
 * bounds, and holds wherever its member is not set.
 */
export type Bounds = { readonly [Name in BoundName]?: number }

type BoundName =
  | 'answerTimeoutMs'
  | 'connectionsMax'
  | 'lingerTimeoutMs'
  | 'requestIdleTimeoutMs'
  | 'slowPeerGraceMs'
