/** Who answers: `direct` is the mock itself, `tuned` the gateway with the flags for one core. */
export type Candidate = 'floor' | 'gateway' | 'tuned' | 'direct'

export type Workload = {
  name: string
  kind: 'chat' | 'stream' | 'image'
  /** Its name tells the mock upstream what to answer. */
  model: string
  connections: number
  candidates: Candidate[]
  target: Target
  /** The gateway is asked the same thing every time, and answers from its cache. */
  repeats?: true
}

/** The most that performance.md section 9 allows, against the plain floor. */
export type Target = { of: Candidate; most: Partial<Record<Measure, number>> }

export type Measure = 'ratio' | 'addedP50Ms' | 'peakMiB'

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
    name: 'chat1',
    kind: 'chat',
    model: 'plain',
    connections: 1,
    candidates: ['floor', 'gateway', 'direct'],
    target: { of: 'gateway', most: { ratio: 2.2, addedP50Ms: 0.25 } },
  },
  {
    name: 'stream20',
    kind: 'stream',
    model: 'stream-20',
    connections: 64,
    candidates: ['floor', 'gateway'],
    target: { of: 'gateway', most: { ratio: 1.35 } },
  },
  {
    name: 'stream200',
    kind: 'stream',
    model: 'stream-200',
    connections: 64,
    candidates: ['floor', 'gateway'],
    target: { of: 'gateway', most: { ratio: 1.2 } },
  },
  {
    name: 'burst200',
    kind: 'stream',
    model: 'burst-200',
    connections: 16,
    candidates: ['floor', 'gateway'],
    target: { of: 'gateway', most: { ratio: 2 } },
  },
  {
    name: 'image64k',
    kind: 'image',
    model: 'image-64k',
    connections: 16,
    candidates: ['floor', 'gateway', 'tuned'],
    target: { of: 'gateway', most: { ratio: 2.5 } },
  },
  {
    name: 'image1m5',
    kind: 'image',
    model: 'image-1536k',
    connections: 8,
    candidates: ['floor', 'gateway', 'tuned'],
    target: { of: 'tuned', most: { ratio: 1.5 } },
  },
  {
    name: 'image8m',
    kind: 'image',
    model: 'image-8m',
    connections: 4,
    candidates: ['floor', 'gateway', 'tuned'],
    target: { of: 'tuned', most: { ratio: 1.3, peakMiB: 450 } },
  },
  {
    name: 'cached1m5',
    kind: 'image',
    model: 'image-1536k',
    connections: 8,
    candidates: ['floor', 'gateway'],
    target: { of: 'gateway', most: { ratio: 0.6 } },
    repeats: true,
  },
]
