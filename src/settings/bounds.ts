import { totalmem } from 'node:os'

/** With a larger budget the process could exceed 600 MB (docs/performance.md#memory). */
const bufferedBytesMost = 192 * 1024 * 1024

/** The base64 of one PNG of 4096x4096. */
const pictureBytesLeast = 64 * 1024 * 1024

/**
 * Limits that are no settings, because no operator has a reason to change them. `loadConfig` merges them with the
 * limits of settings.yaml; tests override them with the option `bounds` of `startGateway`.
 */
export const bounds = {
  // Connections, bodies and answers of clients.

  /** Client connections, each of which takes some kilobytes; fewer where the limit of open files is low. */
  connectionsMax: 16_384,
  /** Timeout without progress: a slow reader accepts some bytes within a minute. */
  answerTimeoutMs: 60_000,
  /** Long enough for a client to read an error during its upload before the connection is reset. */
  lingerTimeoutMs: 2000,
  /** Timeout of a pause: a client that changes networks resumes within seconds. */
  requestIdleTimeoutMs: 30_000,
  /** How long a peer may pause before it is disconnected for its memory: enough to retransmit a lost packet. */
  slowPeerGraceMs: 2000,
  /**
   * The head of a stream is sent, and the answer of a tool becomes a stream, after this time: proxies and clients
   * cut connections without data. Until then an error has a status.
   */
  streamAfterMs: 5000,
  /** The memory of all processes for large pictures. */
  pictureBytesMax: pictureBytesDefault(),

  // Calls.

  /** Four routes with one retry each. It is low, since any try may be charged. */
  triesMax: 8,
  /** The first pause; each further pause is twice as long. An overloaded vendor often recovers within this time. */
  retryDelayMs: 250,
  /** After a longer pause the caller should retry, and gets `Retry-After`. */
  retryDelayMaxMs: 2000,
  /** Single failures are normal at any provider; five in a row are an outage. */
  circuitFailuresMax: 5,
  /** Vendors limit pictures per minute: one request must not use up the whole limit. */
  imageCallsConcurrentMax: 4,
  /** Each conversion takes one of libuv's four threads, which file access and DNS look-ups share. */
  rendersConcurrentMax: 2,
  /** While more conversions wait, no vendor is asked for pictures that need one. */
  rendersQueuedMax: 256,
  /** Calls wait for a vendor's list of models at most this long; then the requested name counts as unknown. */
  modelListTimeoutMs: 3000,
  /**
   * Calls of one account in one process. Each keeps its slot of `concurrent_requests_max` (2000 by default), so
   * that no account takes more than a twentieth of the slots with requests that cost it no connection.
   */
  backgroundCallsPerAccountMax: 100,
  /** Within this time a call ends whose response was cancelled or deleted in another process. */
  backgroundRecheckMs: 2000,

  /** After five times this time without a sign of life of a process, another process finishes its jobs. */
  processLeaseMs: 5000,
  /** A list of jobs is read by index; a row has a kilobyte. */
  imageJobsPerAccountMax: 100_000,

  // Answers of providers.

  /** Time for the bytes after the end mark of a stream and for error bodies, which the answer does not need. */
  upstreamEndTimeoutMs: 2000,
  /** Limit of an answer: ten large pictures as base64 fit. An endless answer is aborted. */
  upstreamAnswerBytesMax: 128 * 1024 * 1024,
  /** Limits JSON, since parsing blocks the event loop; answers of models are far smaller. */
  upstreamJsonBytesMax: 16 * 1024 * 1024,
  /** Vendors ask for this interval between two polls of a task, and for twice as much after half a minute. */
  taskPollMs: 3000,
  /** A delay that readers do not notice, and that lets many streams share a flush; 0 disables batching. */
  streamCoalescingMs: 10,
  /** More waiting bytes are flushed at once, since the write then dominates the cost. */
  streamCoalescingBytesMax: 65_536,
  /** Batching is not needed for fewer streams (docs/performance.md#event-streams). */
  streamCoalescingStreamsMin: 32,

  // Stored answers.

  /** The most bytes of stored answers; an account may use half of this space. */
  idempotencyBytesMax: 1024 ** 3,
  /** The largest stored answer, which fits ten pictures as base64. */
  idempotencyAnswerBytesMax: 64 * 1024 * 1024,
  /** The largest stored response as JSON, with its history: a long conversation, or a few pictures. */
  storedResponseBytesMax: 8 * 1024 * 1024,
  /** The space of an account for stored responses. When it is used up, the oldest responses are removed. */
  storedResponsesBytesMax: 64 * 1024 * 1024,
  /** Timeout of the shared cache, which a call asks before the vendor; shorter than a vendor's answer. */
  sharedCacheTimeoutMs: 150,
  /** Pending writes take memory; beyond this limit an answer is kept only in this process. */
  sharedCacheWritesMax: 64,
  sharedCacheWrittenBytesMax: 32 * 1024 * 1024,

  // Accounts and keys.

  /** A revoked key must be refused within two seconds, even when the announcement is lost. */
  keyCacheMs: 1000,
  /** An entry takes a few kilobytes; a key that is not cached costs one query. */
  keyCacheEntriesMax: 10_000,
  /** Interval of the check of running exchanges, which covers lost announcements; announced changes apply at once. */
  keyRecheckMs: 1000,
  /** One minute, since the dashboard shows minutes; a crash loses the uses of one interval. */
  keyUseWriteMs: 60_000,
  /**
   * Longest wait for money that running calls hold in a budget. Less than `streamAfterMs`, so that the refusal
   * of a stream still has its status and `Retry-After`.
   */
  budgetWaitMaxMs: 4000,
  /** Maximum of pending rows of each kind; further rows are dropped until the next write. */
  connectionLogWaitingMax: 1000,
  /** Each open invitation is a row in the account's list. */
  invitationsPerAccountMax: 1000,
  /** RFC 9106 section 4, the second recommended option. */
  passwordMemoryKib: 65_536,
  /** The interval in which each process looks for due webhook deliveries: an event is sent within about a second. */
  webhookLookMs: 1000,
  /** Receivers that work longer should answer first; senders of Standard Webhooks wait 15 to 30 seconds. */
  webhookAnswerTimeoutMs: 15_000,
  /** The interval in which budgets and providers are compared with the thresholds of alerts. */
  alertSweepMs: 5000,
  /** The interval in which changes of stored settings by other processes and by the command line are noticed. */
  storedRecheckMs: 2000,

  // OAuth.

  /** Any client can begin sign-ins; at about a kilobyte per row, this bounds the table at about 100 MB. */
  oauthSignInsMax: 100_000,
  /** Includes replaced tokens; enough for one refresh a minute during a week. */
  oauthTokensPerConnectionMax: 10_000,
  /** Covers concurrent refreshes by processes of one client, and a retry after a lost response. */
  oauthRefreshGraceSeconds: 120,
  /** Each connection is a key in the account's lists. */
  oauthConnectionsPerAccountMax: 1000,
  /** Clients that registered themselves: any client can register, with about a kilobyte of metadata. */
  oauthClientsMax: 100_000,
  /** Limit of registrations from all addresses together, since each registration stores a row. */
  oauthRegistrationsTotalPerHourMax: 500,
  /** Pending fetches of client documents, each of which holds a connection for 2.5 seconds at most. */
  oauthDocumentFetchesMax: 32,
  oauthDocumentFetchesPerAddressMax: 4,
  /** Interval of sweeps: not urgent, since expired rows are already refused and only use space. */
  oauthSweepMs: 60_000,
  /** Rows that one statement removes: few enough not to delay calls. */
  oauthSweepRowsMax: 1000,
  /** An unused client is removed after four weeks: its program may keep the id, and does not register again. */
  oauthUnusedClientTtlSeconds: 28 * 86_400,
  /** A client that is no longer used is removed after a quarter of a year. */
  oauthIdleClientTtlSeconds: 90 * 86_400,

  // The tool server.

  /** Concurrent calls of one batch, which must not occupy all connections to a provider. */
  batchCallsConcurrentMax: 8,
  /** Queued and running calls, each of which holds its arguments in memory. */
  toolCallsPerKeyMax: 1000,
  /** Clients reset their timeout at each progress notification; the shortest timeout is about ten seconds. */
  toolProgressIntervalMs: 5000,
  /** Older sessions lose their ended mark and log level, which is harmless. */
  toolSessionsRememberedMax: 10_000,
  /** A client has one stream, and briefly a second one after a reconnect. */
  eventStreamsPerSessionMax: 4,
  /** Streams in the process, each of which takes a connection and some kilobytes of memory. */
  eventStreamsMax: 10_000,
  /** A folder with more files is slow to list. */
  uploadFilesMax: 10_000,

  // The store and Redis.

  /** How long to wait for the transaction of another process, such as a command. */
  storeBusyTimeoutMs: 5000,
  /** Queries of calls take milliseconds; a thread that does not answer within this time is broken. */
  storeAnswerTimeoutMs: 30_000,
  /** Maximum of queued queries: a few for each request in progress. */
  storeQueueMax: 10_000,
  /** Interval of checks, which are cheap: a recovered store is used within a second. */
  storeCheckIntervalMs: 1000,
  /** Calls wait this long for a connection to PostgreSQL; after that, the server counts as unreachable. */
  databaseConnectTimeoutMs: 5000,
  /** Time limit of a report, which may read the whole ledger while a person waits. */
  reportTimeoutMs: 30_000,
  /** Reports of one account: several, since a page sends several requests; few, so that others get a turn. */
  reportsPerAccountMax: 16,
  /** The size of the journal, for some thousand rows: more than the calls in progress. Allocated in advance. */
  ledgerJournalBytesMax: 4 * 1024 * 1024,
  /** A transaction of this size takes about ten milliseconds. */
  ledgerGroupRowsMax: 500,
  /** A longer wait costs callers more than a larger group saves (docs/performance.md#ledger). */
  ledgerGroupPauseMaxMs: 2,
  /** The longest time that a call of a dead process stays uncharged. */
  reservationSweepMs: 10_000,
  /** Time limit of retries of a row, since the caller waits meanwhile. */
  ledgerRetryMaxMs: 2000,
  /** Time limit to connect. Redis is in the same network; calls continue without a Redis that is slower. */
  redisConnectTimeoutMs: 1000,
  redisCommandTimeoutMs: 250,
  /** Interval of pings: a Redis that hangs is noticed within two intervals (docs/redis.md). */
  redisPingIntervalMs: 500,

  // Telemetry.

  /** Queued spans, a few megabytes. If the collector is too slow, further spans are dropped. */
  telemetrySpansMax: 4096,
  /** Time limit of the last export, which delays the exit; orchestrators kill a process after a time. */
  telemetryFlushTimeoutMs: 3000,
}

export type Bounds = Readonly<typeof bounds>

/** The limits that are settings, for printing. */
export function withoutBounds(limits: object): object {
  return Object.fromEntries(Object.entries(limits).filter(([name]) => !Object.hasOwn(bounds, name)))
}

/** The default budget: a quarter of the memory that the process may use. */
export function bufferedBytesDefault(): number {
  return Math.min(quarterOfMemory(), bufferedBytesMost)
}

/** The memory for large pictures, which grows with the memory that the process may use. */
function pictureBytesDefault(): number {
  return Math.max(quarterOfMemory(), pictureBytesLeast)
}

function quarterOfMemory(): number {
  // `constrainedMemory` is 0 or exceeds the physical memory if no limit is set, as by a container.
  const memory = Math.min(process.constrainedMemory() || Infinity, totalmem())
  return Math.floor(memory / 4)
}
