/**
 * Bounds that tests lower. No setting names them: each is a constant, with its reason, beside what it
 * bounds, and holds wherever its member is not set.
 */
export type Bounds = { readonly [Name in BoundName]?: number }

type BoundName =
  | 'answerTimeoutMs'
  | 'circuitFailuresMax'
  | 'connectionsMax'
  | 'farCacheTimeoutMs'
  | 'imageCallsConcurrentMax'
  | 'lingerTimeoutMs'
  | 'modelListTimeoutMs'
  | 'rendersConcurrentMax'
  | 'rendersQueuedMax'
  | 'requestIdleTimeoutMs'
  | 'retryDelayMs'
  | 'slowPeerGraceMs'
  | 'streamCoalescingBytesMax'
  | 'streamCoalescingMs'
  | 'streamCoalescingStreamsMin'
  | 'upstreamAnswerBytesMax'
  | 'upstreamEndTimeoutMs'
  | 'upstreamJsonBytesMax'
