import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createIdentify } from '../../src/accounts/identify.ts'
import { assembleCalls } from '../../src/assemble/calls.ts'
import { createMemoryBudget } from '../../src/bytes/memory-budget.ts'
import { loadConfig } from '../../src/settings/config.ts'
import type { Caller } from '../../src/core/caller.ts'
import type { ChatAdapter, ChatCompletion, ChatRequest } from '../../src/core/chat/chat.ts'
import { createGateway, type GatewayParts } from '../../src/core/gateway.ts'
import { newRequestId } from '../../src/http/exchange.ts'
import { createEncryption } from '../../src/storage/encryption.ts'
import { readGatewaySecret } from '../../src/storage/gateway-secret.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { guardStore } from '../../src/storage/store-guard.ts'
import { createEvents } from '../../src/telemetry/events.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { callerOf } from '../../test/support/callers.ts'
import { contextOf, corePartsOf, inputsOf } from '../../test/support/core-gateway.ts'
import { accountsOf, storeKey } from '../../test/support/keys.ts'
import { routeOf } from '../../test/support/route.ts'
import { plainReply } from './replies.ts'

// The core alone, between a node:http server and a vendor that answers at once. `booked` identifies its
// caller, applies limits and budgets, and records each call; `bare` does none of these.

// plainReply is the vendor's chat completion.
const completion = JSON.parse(plainReply.toString()) as ChatCompletion & { usage: unknown }
const usage = { inputTokens: 120, outputTokens: 200, images: 0, estimated: false }
const chat: ChatAdapter = {
  prepare: () => ({
    problems: [],
    warnings: [],
    complete: () => Promise.resolve({ completion, usage, bytes: plainReply.length }),
    stream: () => Promise.reject(new Error('This vendor does not stream.')),
  }),
}
const route = routeOf('openai', { model: 'gpt-5-mini', chat })

type Bookkeeping = Pick<GatewayParts, 'admit' | 'reserve' | 'record'> & {
  identify: (authorization: string) => Promise<Caller> | Caller
}

const nothing = (): Bookkeeping => {
  const caller = callerOf()
  const { admit, reserve, record } = corePartsOf([route])
  return { identify: () => caller, admit, reserve, record }
}

const everything = async (): Promise<Bookkeeping & { key: string }> => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-core-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const { config, secrets } = loadConfig({ DATA_DIR: folder })
  const monotonic = (): number => Math.trunc(performance.now())
  const memoryBudget = createMemoryBudget({ bytesMax: 2 ** 28, graceMs: 2000, now: monotonic })
  const log = createLog({ logLevel: 'silent', logFormat: 'json' })
  const metrics = createMetrics({ bufferedBytes: memoryBudget.bytes, settle: log.settle })
  const events = createEvents(log, metrics)
  const opened = await openStore(config, { databaseUrl: undefined })
  const store = await guardStore({ store: opened, config, monotonic, events })
  const clock = Date.now
  const { id: accountId } = await accountsOf(store, clock).accounts.first()
  const key = await storeKey(store, { accountId, mode: 'live', now: clock() })
  const allowance = {
    requests_per_minute: 1e9,
    tokens_per_minute: 1e9,
    images_per_minute: 1e9,
    concurrency: 1e6,
    budget_nano_usd: 1e15,
    budget_period: 'month' as const,
  }
  await store.db.updateTable('accounts').set(allowance).execute()
  await store.db.updateTable('api_keys').set(allowance).execute()
  const { limits } = config
  const secret = await readGatewaySecret(store.db)
  const encryption = createEncryption({
    ...config,
    encryptionKey: undefined,
    databaseUrl: undefined,
  })
  const peers = { redis: undefined }
  const environment = {
    config,
    secrets,
    events,
    peers,
    memoryBudget,
    publicNet: {},
    clock,
    monotonic,
  }
  const current = () => ({ takeOver: () => Promise.resolve() })
  const parts = { store, secret, encryption, announce: () => undefined }
  const calls = await assembleCalls(environment, parts, { settings: () => config, current })
  const { identify } = createIdentify({
    store,
    clock,
    monotonic,
    ...limits,
    tokensFor: { audience: '', scope: '' },
    onUse: () => undefined,
  })
  return {
    key,
    identify: (authorization) => identify({ authorization, apiKey: undefined }),
    admit: (...call) => calls.rateLimit.admit(...call),
    reserve: calls.budgets.reserve,
    record: calls.record,
  }
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let text = ''
  for await (const piece of request.setEncoding('utf8')) text += String(piece)
  return text
}

const isBooked = process.argv[2] === 'booked'
const parts = isBooked ? await everything() : nothing()
const { identify, admit, reserve, record } = parts
const gateway = createGateway({ ...corePartsOf([route]), admit, reserve, record })
const authorization = 'key' in parts ? `Bearer ${String(parts.key)}` : ''

const server = createServer((request, response) => {
  const answer = async (): Promise<void> => {
    // The driver, the only client, sends only chat requests.
    const asked = JSON.parse(await bodyOf(request)) as ChatRequest
    const caller = await identify(authorization)
    const { result } = await gateway.chat(inputsOf({ ...asked, model: route.model.row.id }), {
      ...contextOf({ caller, requestId: newRequestId(Date.now()) }),
      cache: { mayRead: false, mayStore: false, ttlMs: undefined },
    })
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(result.text)
  }
  answer().catch((error: unknown) => {
    response.writeHead(500)
    response.end(String(error))
  })
})
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
