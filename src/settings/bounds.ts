/**
 * Bounds that tests lower. No setting names them: each is a constant, with its reason, beside what it
 * bounds, and holds wherever its member is not set.
 */
export type Bounds = { readonly [Name in BoundName]?: number }

type BoundName =
  | 'answerTimeoutMs'
  | 'circuitFailuresMax'
  | 'connectionLogWaitingMax'
  | 'connectionsMax'
  | 'farCacheTimeoutMs'
  | 'imageCallsConcurrentMax'
  | 'invitationsPerAccountMax'
  | 'keyCacheMs'
  | 'keyRecheckMs'
  | 'keyUseWriteMs'
  | 'lingerTimeoutMs'
  | 'modelListTimeoutMs'
  | 'oauthDocumentFetchesMax'
  | 'oauthDocumentFetchesPerAddressMax'
  | 'oauthRefreshGraceSeconds'
  | 'oauthRegistrationsTotalPerHourMax'
  | 'oauthSweepMs'
  | 'passwordMemoryKib'
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
