import type { Candidate } from './candidates.ts'

export type Wire = 'anthropic' | 'gemini' | 'dashscope' | 'ark' | 'openai'

export type Workload = {
  name: string
  /** `hold` opens event streams and leaves them idle; kinds with `tool` call /mcp. */
  kind:
    | 'chat'
    | 'stream'
    | 'response'
    | 'response-stream'
    | 'message'
    | 'message-stream'
    | 'image'
    | 'edit'
    | 'tool-list'
    | 'tool-list-modern'
    | 'tool-chat'
    | 'tool-image'
    | 'hold'
    | 'vendor-stream'
  /** The mock upstream chooses its answer by this name. */
  model: string
  connections: number
  candidates: Candidate[]
  /** The format of the vendor; the floor forwards the vendor's bytes. */
  wire?: Wire
  /** A workload with a group is measured only when `--only` names the workload or the group. */
  group?: typeof imagesGroup
  /** The process to compare with; the floor by default. */
  against?: Candidate
  target: Target
  /** The process that answers repeated requests from its cache, and the number of different requests. */
  repeats?: { by: Candidate; things: number }
  /** Number of calls in the ledger, over 30 days. Reports of these calls run during the load. */
  historyRows?: number
}

/** Upper limits of measured values, for the candidate `of`. */
export type Target = { of: Candidate; most: Partial<Record<Measure, number>> }

export type Measure = 'p99Ratio' | 'ratio' | 'addedP50Ms' | 'peakMiB' | 'addedMiB'

export const imagesGroup = 'images'
/** The cost of identification, limits, reservation, settlement and recording together. */
export const bookkeeping = 'bookkeeping'

const vendorPictures = (wire: Wire): Workload[] =>
  [
    { name: `${wire}1m5`, model: 'image-1536k', connections: 8 },
    { name: `${wire}8m`, model: 'image-8m', connections: 4 },
  ].map((row) => ({
    ...row,
    kind: 'image',
    candidates: ['openai', 'gateway'],
    wire,
    group: imagesGroup,
    against: 'openai',
    target: { of: 'gateway', most: { ratio: 1.6 } },
  }))

const overHttp = { candidates: ['http', 'gateway'], against: 'http' } satisfies Partial<Workload>

/** The vendor has the API of the caller, so that its events are forwarded. */
const nativeStream = (row: Pick<Workload, 'name' | 'model' | 'connections'>): Workload => ({
  ...row,
  kind: 'message-stream',
  wire: 'anthropic',
  ...overHttp,
  target: { of: 'gateway', most: { ratio: 1.1 } },
})

const vendorStreams = (wire: Wire): Workload[] =>
  [
    { name: `${wire}200`, model: 'stream-200', connections: 64 },
    { name: `${wire}Burst200`, model: 'burst-200', connections: 16 },
  ].map((row) => ({
    ...row,
    kind: 'stream',
    candidates: ['floor', 'gateway'],
    wire,
    target: { of: 'gateway', most: { ratio: 3 } },
  }))

export const workloads: Workload[] = [
  {
    name: 'chat',
    kind: 'chat',
    model: 'plain',
    connections: 64,
    candidates: ['floor', 'gateway'],
    target: { of: 'gateway', most: { ratio: 2.5 } },
  },
  {
    name: 'chat32',
    kind: 'chat',
    model: 'plain',
    connections: 32,
    candidates: ['floor', 'gateway'],
    target: { of: 'gateway', most: { ratio: 2.5, peakMiB: 300 } },
  },
  {
    name: 'chatAndReports',
    kind: 'chat',
    model: 'plain',
    connections: 32,
    candidates: ['quiet', 'gateway'],
    against: 'quiet',
    target: { of: 'gateway', most: { p99Ratio: 1.3 } },
    historyRows: 1_000_000,
  },
  {
    name: 'chat1',
    kind: 'chat',
    model: 'plain',
    connections: 1,
    candidates: ['floor', 'gateway', 'direct'],
    target: { of: 'gateway', most: { ratio: 2.2, addedP50Ms: 0.25 } },
  },
  {
    name: 'chatLimited',
    kind: 'chat',
    model: 'plain',
    wire: 'openai',
    connections: 64,
    candidates: ['gateway', 'limited'],
    against: 'gateway',
    target: { of: 'limited', most: { ratio: 1.15 } },
  },
  {
    name: 'chatShared',
    kind: 'chat',
    model: 'plain',
    connections: 64,
    candidates: ['gateway', 'shared'],
    against: 'gateway',
    target: { of: 'shared', most: { ratio: 1.6 } },
  },
  {
    name: 'chatWorkers',
    kind: 'chat',
    model: 'plain',
    connections: 64,
    candidates: ['replicas', 'workers'],
    against: 'replicas',
    target: { of: 'workers', most: { ratio: 1.1 } },
  },
  {
    name: bookkeeping,
    kind: 'chat',
    model: 'plain',
    connections: 64,
    candidates: ['bare', 'booked'],
    against: 'bare',
    target: { of: 'booked', most: {} },
  },
  ...(
    [
      ['stream20', 'stream-20', 64, 1.2],
      ['stream200', 'stream-200', 64, 1.2],
      ['burst200', 'burst-200', 16, 2],
    ] as const
  ).map(([name, model, connections, ratio]): Workload => ({
    name,
    model,
    connections,
    kind: 'stream',
    candidates: ['floor', 'gateway'],
    target: { of: 'gateway', most: { ratio } },
  })),
  {
    name: 'image64k',
    kind: 'image',
    model: 'image-64k',
    connections: 16,
    candidates: ['floor', 'gateway'],
    target: { of: 'gateway', most: { ratio: 2.5 } },
  },
  {
    name: 'image1m5',
    kind: 'image',
    model: 'image-1536k',
    connections: 8,
    candidates: ['floor', 'gateway'],
    target: { of: 'gateway', most: { ratio: 1.5 } },
  },
  {
    name: 'image8m',
    kind: 'image',
    model: 'image-8m',
    connections: 4,
    candidates: ['floor', 'gateway'],
    target: { of: 'gateway', most: { ratio: 1.3, peakMiB: 450 } },
  },
  {
    name: 'cached1m5',
    kind: 'image',
    model: 'image-1536k',
    connections: 8,
    candidates: ['floor', 'gateway'],
    target: { of: 'gateway', most: { ratio: 0.6 } },
    repeats: { by: 'gateway', things: 1 },
  },
  {
    name: 'farCached1m5',
    kind: 'image',
    model: 'image-1536k',
    connections: 8,
    candidates: ['gateway', 'far'],
    against: 'gateway',
    target: { of: 'far', most: { ratio: 0.8 } },
    // More requests than connections, since identical concurrent requests share one look-up.
    repeats: { by: 'far', things: 16 },
  },
  {
    name: 'toolList',
    kind: 'tool-list',
    model: 'plain',
    connections: 16,
    candidates: ['koa', 'gateway'],
    against: 'koa',
    target: { of: 'gateway', most: { ratio: 2 } },
  },
  {
    name: 'toolListModern',
    kind: 'tool-list-modern',
    model: 'plain',
    connections: 16,
    candidates: ['koa', 'gateway'],
    against: 'koa',
    target: { of: 'gateway', most: { ratio: 2 } },
  },
  ...(['response', 'message'] as const).flatMap((kind): Workload[] =>
    [
      { name: `${kind}32`, kind, model: 'plain', connections: 32 },
      {
        name: `${kind}Stream20`,
        kind: `${kind}-stream` as const,
        model: 'stream-20',
        connections: 64,
      },
    ].map((row) => ({
      ...row,
      ...overHttp,
      target: { of: 'gateway', most: { ratio: 1.3 } },
    })),
  ),
  nativeStream({ name: 'messageNative200', model: 'stream-200', connections: 64 }),
  nativeStream({ name: 'messageNativeBurst200', model: 'burst-200', connections: 16 }),
  {
    name: 'toolChat',
    kind: 'tool-chat',
    model: 'plain',
    connections: 32,
    ...overHttp,
    target: { of: 'gateway', most: { ratio: 1.4 } },
  },
  ...(['tool-list', 'tool-chat'] as const).map((kind): Workload => ({
    name: kind === 'tool-list' ? 'tokenList' : 'tokenChat',
    kind,
    model: 'plain',
    connections: 16,
    candidates: ['gateway', 'token'],
    against: 'gateway',
    target: { of: 'token', most: { ratio: 1.1 } },
  })),
  {
    name: 'toolImage1m5',
    kind: 'tool-image',
    model: 'image-1536k',
    connections: 8,
    ...overHttp,
    target: { of: 'gateway', most: { ratio: 1.6 } },
  },
  {
    name: 'idle2000',
    kind: 'hold',
    model: 'plain',
    connections: 2000,
    candidates: ['gateway'],
    target: { of: 'gateway', most: { addedMiB: 80 } },
  },
  ...vendorStreams('anthropic'),
  ...vendorStreams('gemini'),
  ...vendorPictures('gemini'),
  ...vendorPictures('dashscope'),
  ...vendorPictures('ark'),
  {
    name: 'edit10m',
    kind: 'edit',
    model: 'image-64k',
    connections: 4,
    candidates: ['floor', 'gateway'],
    wire: 'openai',
    group: imagesGroup,
    target: { of: 'gateway', most: { ratio: 1.5 } },
  },
]
