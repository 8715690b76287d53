import { BlockList } from 'node:net'
import { expect } from 'chai'
import fc from 'fast-check'
import { countedAs } from '../../src/accounts/allowance.ts'
import type { Scope } from '../../src/core/caller.ts'
import type { ApiKeysTable } from '../../src/storage/tables.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { keyCalls, type MadeKey } from '../support/key-calls.ts'
import type { StoredKey } from '../support/keys.ts'
import { forEachStore } from '../support/each-store.ts'

const today = Date.parse('2026-11-22T12:00:00Z')
const dayMs = 86_400_000
const timeIn = (days: number) => new Date(today + days * dayMs).toISOString()
const giving: Scope[] = ['inference', 'keys:write']

forEachStore('a family of keys', () => {
  let gateway: TestGateway
  before(async () => {
    gateway = await startGateway({ clock: () => today, bounds: { keyCacheMs: 0 } })
  })
  after(() => gateway.stop())

  it('never has more permissions than its first key, whichever key acts', async () => {
    const { make, change, rotate, rowOf } = keyCalls(gateway)
    await fc.assert(
      fc.asyncProperty(
        issuer,
        fc.array(act, { minLength: 4, maxLength: 14 }),
        async (own, acts) => {
          const accountId = await gateway.createAccount()
          const stored = (more: StoredKey) =>
            gateway.createKey(own.mode, { ...own.stored, ...more, accountId })
          const root = await rowOf(await stored({}))
          const admin = await rowOf(
            await gateway.createKey('live', { scopes: ['admin'], accountId }),
          )
          const neighbour = await gateway.createKey('live', { accountId })
          const family = [
            await stored({ row: { ...own.stored.row, counts_with: countedAs(root) } }),
          ]
          const ids = async () =>
            (
              await gateway.db
                .selectFrom('api_keys')
                .select('id')
                .where('account_id', '=', accountId)
                .orderBy('id')
                .execute()
            ).map(({ id }) => id)
          for (const { by, of, kind, mode, settings } of acts) {
            const key = family[by % family.length]!
            const all = await ids()
            const id = all[of % all.length]!
            const answer =
              kind === 'make'
                ? await make(key, { mode, ...settings })
                : kind === 'rotate'
                  ? await rotate(key, id)
                  : await change(key, id, settings)
            const body = (await answer.json()) as Partial<MadeKey>
            expect(answer.status, JSON.stringify(body)).to.be.oneOf([200, 201, 401, 403, 409])
            if (body.key !== undefined) family.push(body.key)
          }
          expect(
            await gateway.db
              .selectFrom('api_keys')
              .selectAll()
              .where('id', '=', admin.id)
              .execute(),
          ).to.deep.equal([admin])
          expect(await rowOf(neighbour)).to.include({ revoked_at: null, account_id: accountId })
          for (const key of family) expectWithin(await rowOf(key), root)
        },
      ),
      { numRuns: 60 },
    )
  })
})

const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: null, freq: 2 })
const scopesIn = fc.oneof(
  fc.constantFrom<Scope[]>(['inference'], ['keys:write'], giving),
  fc.subarray<Scope>(['inference', 'usage:read', 'keys:write', 'admin'], { minLength: 1 }),
)
const modelsIn = maybe(
  fc.subarray(['gpt-5-mini', 'gpt-5.4', 'gpt-5.2', 'gemini-2.5-flash'], { minLength: 1 }),
)
/** All lists contain 127.0.0.1, the address of the tests, so that each key can be used. */
const networksIn = maybe(
  fc.subarray(
    ['127.0.0.1', '127.0.0.0/8', '0.0.0.0/0', '::/0', '::ffff:127.0.0.0/104', '10.0.0.0/8'],
    {
      minLength: 1,
    },
  ),
)
const count = maybe(fc.integer({ min: 0, max: 3 }))
const settingsIn = fc.record(
  {
    scopes: scopesIn,
    models: modelsIn,
    allowed_addresses: networksIn,
    expires_at: maybe(fc.integer({ min: 1, max: 4 }).map(timeIn)),
    limits: fc.record(
      { requests_per_minute: count, images_per_minute: count, concurrency: count },
      { requiredKeys: [] },
    ),
    budget: maybe(
      fc.record({
        usd: fc.constantFrom('0', '1', '1.5', '3'),
        period: fc.constantFrom('day', 'month', 'total'),
      }),
    ),
  },
  { requiredKeys: [] },
)
const modeIn = fc.constantFrom('test' as const, 'live' as const)
const act = fc.record({
  kind: fc.constantFrom('make', 'rotate', 'change'),
  by: fc.nat(20),
  of: fc.nat(20),
  mode: modeIn,
  settings: fc.oneof(fc.constant({}), fc.record({ scopes: fc.constant(giving) }), settingsIn),
})
const issuer = fc.record({
  mode: modeIn,
  stored: fc
    .record({
      models: modelsIn,
      days: maybe(fc.integer({ min: 1, max: 4 })),
      usd: maybe(fc.nat(2)),
    })
    .chain(({ models, days, usd }) =>
      fc.record({
        scopes: fc.constantFrom<Scope[]>(['keys:write'], giving, [...giving, 'usage:read']),
        networks: fc.constantFrom(
          undefined,
          ['127.0.0.0/8'],
          ['::/0'],
          ['127.0.0.1', '10.0.0.0/8'],
        ),
        row: fc.record({
          concurrency: count,
          images_per_minute: count,
          budget_nano_usd: fc.constant(usd === null ? null : usd * 1e9),
          budget_period: fc.constant(usd === null ? null : ('month' as const)),
        }),
        ...(models === null ? {} : { models: fc.constant(models) }),
        ...(days === null ? {} : { expiresAt: fc.constant(today + days * dayMs) }),
      }),
    ),
}) as fc.Arbitrary<{ mode: 'test' | 'live'; stored: StoredKey }>

const addresses = ['127.0.0.1', '127.200.0.9', '10.1.2.3', '9.9.9.9', '2001:db8::1', '::1']

/** Compares what the keys permit, not their stored form, to be independent of the tested code. */
function expectWithin(row: ApiKeysTable, root: ApiKeysTable): void {
  const about = JSON.stringify({ row, root })
  const list = (text: string | null) => (text === null ? null : (JSON.parse(text) as string[]))
  expect(list(root.scopes), about).to.include.members(list(row.scopes)!)
  if (root.mode === 'test') expect(row.mode, about).to.equal('test')
  const models = list(root.allowed_models)
  if (models !== null) expect(models, about).to.include.members(list(row.allowed_models) ?? ['all'])
  for (const address of addresses) {
    const mayRow = mayUseFrom(list(row.allowed_addresses), address)
    if (mayRow) expect(mayUseFrom(list(root.allowed_addresses), address), about).to.equal(true)
  }
  for (const column of [
    'expires_at',
    'concurrency',
    'images_per_minute',
    'budget_nano_usd',
  ] as const) {
    const most = root[column]
    if (most !== null) expect(row[column] ?? Infinity, `${column} ${about}`).to.be.at.most(most)
  }
  if (root.budget_period !== null) expect(row.budget_period, about).to.equal(root.budget_period)
  const isLimited = [root.concurrency, root.images_per_minute, root.budget_nano_usd].some(
    (most) => most !== null,
  )
  if (isLimited) expect(countedAs(row), about).to.equal(countedAs(root))
}

function mayUseFrom(networks: string[] | null, address: string): boolean {
  if (networks === null || networks.includes('::/0')) return true
  const list = new BlockList()
  for (const network of networks) {
    const [start = '', bits = '32'] = network.split('/')
    if (start.startsWith('::ffff:')) list.addSubnet(start.slice(7), Number(bits) - 96, 'ipv4')
    else list.addSubnet(start, Number(bits), 'ipv4')
  }
  return list.check(address, address.includes(':') ? 'ipv6' : 'ipv4')
}
