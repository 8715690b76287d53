import { createMemoryBudget } from '../../src/bytes/memory-budget.ts'
import type { CallContext } from '../../src/core/caller.ts'
import { createAbandonedCalls, Ending } from '../../src/core/resilience/ending.ts'
import { createDeadlines } from '../../src/core/resilience/deadline.ts'
import { pause } from '../../src/core/resilience/failover.ts'
import { createGateway, type GatewayParts } from '../../src/core/gateway.ts'
import type { CallInputs, FoundModel } from '../../src/core/model.ts'
import type { UsageRow } from '../../src/core/receipt.ts'
import { fingerprintKeyBytes } from '../../src/core/repeats/fingerprint.ts'
import { createDeduplication } from '../../src/core/repeats/in-flight.ts'
import type { CachedAnswer } from '../../src/core/repeats/cached-answer.ts'
import type { Route } from '../../src/core/route.ts'
import { vendorFacts } from '../../src/providers/index.ts'
import { modelOf } from './route.ts'
import { callerOf } from './callers.ts'

const memoryBudget = createMemoryBudget({
  bytesMax: Infinity,
  graceMs: Infinity,
  now: () => performance.now(),
})

/** A call context of an account. */
export function contextOf(options: Partial<CallContext> = {}): CallContext {
  return {
    caller: callerOf(),
    requestId: 'req_1',
    exchange: { requestId: 'req_1' },
    face: 'chat',
    ending: new Ending(),
    memory: memoryBudget.open(),
    cache: { mayRead: true, mayStore: true, ttlMs: undefined },
    strict: false,
    fallback: true,
    allowRepeat: false,
    isRepeat: false,
    vendorKey: undefined,
    ...options,
  }
}

const find = (name: string): FoundModel => {
  const model = modelOf(name)
  return { name, model, vendor: vendorFacts(model.row.provider), warnings: [] }
}

/** The inputs of a call for a request, with its model. */
export function inputsOf<Request extends { model: string }>(request: Request): CallInputs<Request> {
  return { request, models: [find(request.model)] }
}

/**
 * The core alone, with a cache and a ledger that the test can read.
 *
 * @example
 * const { gateway, rows } = gatewayWith([routeOf('one', { chat: adapter })])
 * await gateway.chat(inputsOf({ model: 'gpt-4.1', messages }), contextOf())
 * expect(rows[0]?.outcome).to.equal('ok')
 */
export function gatewayWith(routes: Route[], more: Partial<GatewayParts> = {}) {
  const kept = new Map<string, CachedAnswer>()
  const rows: UsageRow[] = []
  const gateway = createGateway({
    ...corePartsOf(routes),
    readCache: (key) => kept.get(key),
    writeCache: (key, answer) => {
      kept.set(key, answer)
      return undefined
    },
    record: async (row) => void rows.push(row),
    mark: () => () => undefined,
    ...more,
  })
  return { gateway, kept, rows }
}

/** Parts of a core without cache, limits and ledger. */
export function corePartsOf(routes: Route[]): GatewayParts {
  return {
    ...createDeduplication(Buffer.alloc(fingerprintKeyBytes)),
    startDeadline: createDeadlines(),
    settingsDigest: '',
    assertWritable: () => undefined,
    onRouted: () => undefined,
    abandonedCalls: createAbandonedCalls(() => undefined),
    reserve: () => Promise.reject(new Error('There is no budget.')),
    playedFor: () => Promise.resolve(''),
    openCassette: async () => undefined,
    admit: async () => ({ limits: () => [], end: () => undefined }),
    readCache: () => undefined,
    writeCache: () => undefined,
    find,
    checkPicture: ({ address }) => address,
    routes: () => ({ routes, warnings: [] }),
    orderRoutes: (all) => all,
    failover: {
      limits: { triesMax: 8, routeTriesMax: 1, retryDelayMs: 0, retryDelayMaxMs: 0 },
      health: { began: () => undefined, ended: () => undefined },
      sleep: pause,
      random: () => 0,
    },
    findModel: modelOf,
    report: () => undefined,
    onFault: () => undefined,
    record: async () => undefined,
    mark: () => () => undefined,
    readSources: () => Promise.reject(new Error('There are no pictures.')),
    shrinkPicture: async (picture) => picture,
    conversion: {
      check: () => undefined,
      assertRoom: () => undefined,
      finish: async (picture) => ({ picture }),
    },
    clock: Date.now,
    monotonic: Date.now,
    limits: {
      chatTimeoutMs: 5000,
      imageTimeoutMs: 5000,
      imageCallsConcurrentMax: 1,
    },
  }
}
