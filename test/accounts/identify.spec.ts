import { expect } from 'chai'
import fc from 'fast-check'
import { createKey } from '../../src/accounts/api-key.ts'
import { createIdentify, type KeyCache } from '../../src/accounts/identify.ts'
import type { Caller, Credentials } from '../../src/core/caller.ts'
import { GatewayError } from '../../src/core/error.ts'
import type { Store } from '../../src/storage/store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openTestStore } from '../support/store.ts'
import { callerOf } from '../support/callers.ts'
import { accountsOf, revokeStoredKeys, storeKey } from '../support/keys.ts'
import { forEachStore } from '../support/each-store.ts'

const keyCacheMs = 1000
const tokensFor = { audience: 'https://gateway.test/mcp', scope: 'mcp' }

forEachStore('identifying a caller', () => {
  let folder: TemporaryFolder
  let store: Store
  let identify: KeyCache['identify']
  let forget: KeyCache['forget']
  let accountId: string
  let now: number
  const used: string[] = []
  const onUse = (id: string) => void used.push(id)
  const clock = () => now
  const begin = (changed: Partial<Parameters<typeof createIdentify>[0]> = {}) => {
    const standard = {
      store,
      clock,
      monotonic: clock,
      keyCacheMs,
      keyCacheEntriesMax: 100,
      tokensFor,
      onUse,
    }
    ;({ identify, forget } = createIdentify({ ...standard, ...changed }))
  }
  beforeEach(async () => {
    folder = makeFolder()
    now = 1_800_000_000_000
    store = await openTestStore(folder.path)
    used.length = 0
    begin()
    accountId = (await accountsOf(store, clock).accounts.first()).id
  })
  afterEach(async () => {
    await store.close()
    folder.remove()
  })

  const bearer = (key: string): Credentials => ({
    authorization: `Bearer ${key}`,
    apiKey: undefined,
  })
  const newKey = (options: { models?: string[]; expiresAt?: number } = {}) =>
    storeKey(store, { accountId, mode: 'test', now }, options)
  const revokeAll = () => revokeStoredKeys(store, now)
  /** The identified caller, or the code of the error. */
  const outcome = async (credentials: Credentials) => {
    try {
      return await identify(credentials)
    } catch (error) {
      if (error instanceof GatewayError) return error.code
      throw error
    }
  }

  it('finds account, mode and models of a key in either header', async () => {
    const key = await newKey({ models: ['a', 'b'] })
    const { id: keyId } = await store.db
      .selectFrom('api_keys')
      .select('id')
      .executeTakeFirstOrThrow()
    const caller = callerOf({
      accountId,
      keyId,
      mode: 'test',
      models: ['a', 'b'],
      isOperator: true,
    })
    expect(await outcome(bearer(key))).to.deep.equal(caller)
    expect(await outcome({ authorization: undefined, apiKey: key })).to.deep.equal(caller)
    expect(await outcome({ authorization: `bearer   ${key} `, apiKey: undefined })).to.deep.equal(
      caller,
    )
  })

  it('allows every model to a key without a list of models', async () => {
    const caller = await outcome(bearer(await newKey()))
    expect(caller).to.have.property('models', null)
  })

  const refused: { name: string; credentials: Credentials; code: string }[] = [
    {
      name: 'no credentials',
      credentials: { authorization: undefined, apiKey: undefined },
      code: 'missing_api_key',
    },
    {
      name: 'an empty x-api-key',
      credentials: { authorization: undefined, apiKey: '' },
      code: 'missing_api_key',
    },
    {
      name: 'another scheme',
      credentials: { authorization: 'Basic dXNlcjpwYXNz', apiKey: undefined },
      code: 'invalid_api_key',
    },
    { name: 'an empty bearer', credentials: bearer(''), code: 'invalid_api_key' },
    { name: 'a key of another product', credentials: bearer('sk-1234'), code: 'invalid_api_key' },
    {
      name: 'a key that was never created',
      credentials: bearer(createKey('live')),
      code: 'invalid_api_key',
    },
  ]
  for (const { name, credentials, code } of refused) {
    it(`refuses ${name} with ${code}`, async () => {
      expect(await outcome(credentials)).to.equal(code)
    })
  }

  it('refuses a malformed key without a store look-up', async () => {
    await store.close()
    const text = fc.string().filter((one) => !one.startsWith('mag_'))
    await fc.assert(
      fc.asyncProperty(text, async (apiKey) => {
        const code = apiKey === '' ? 'missing_api_key' : 'invalid_api_key'
        expect(await outcome({ authorization: undefined, apiKey })).to.equal(code)
      }),
    )
    store = await openTestStore(folder.path)
  })

  it('answers overloaded, not invalid_api_key, when the store fails', async () => {
    const key = await newKey()
    await store.close()
    const error = await Promise.resolve(identify(bearer(key))).catch((thrown: unknown) => thrown)
    expect(error).to.be.an('error').and.not.instanceOf(GatewayError)
    store = await openTestStore(folder.path)
  })

  it('looks a key up again only after the cache expires', async () => {
    const key = await newKey()
    const caller = await outcome(bearer(key))
    await revokeAll()
    now += keyCacheMs
    expect(await outcome(bearer(key))).to.deep.equal(caller)
    now += 1
    expect(await outcome(bearer(key))).to.equal('invalid_api_key')
  })

  it('does not extend the cache time of a key that is used', async () => {
    const key = await newKey()
    await outcome(bearer(key))
    await revokeAll()
    for (let used = 0; used < 9; used++) {
      now += keyCacheMs / 10
      expect(await outcome(bearer(key))).to.have.property('accountId', accountId)
    }
    now += keyCacheMs / 10 + 1
    expect(await outcome(bearer(key))).to.equal('invalid_api_key')
  })

  it('looks a key up every time without a cache', async () => {
    begin({ keyCacheMs: 0 })
    const key = await newKey()
    expect(await outcome(bearer(key))).to.have.property('accountId', accountId)
    await revokeAll()
    expect(await outcome(bearer(key))).to.equal('invalid_api_key')
  })

  it('refuses a key from the moment when it expires, even a cached one', async () => {
    const key = await newKey({ expiresAt: now + 10 })
    now += 9
    expect(await outcome(bearer(key))).to.have.property('accountId', accountId)
    now += 1
    expect(await outcome(bearer(key))).to.equal('expired_api_key')
  })

  it('reports a use when it looks a key up, and none for a refused key', async () => {
    const key = await newKey()
    const ending = await newKey({ expiresAt: now })
    await outcome(bearer(ending))
    for (let asked = 0; asked < 5; asked++) await outcome(bearer(key))
    expect(used).to.have.length(1)
    now += keyCacheMs + 1
    await outcome(bearer(key))
    expect(used).to.deep.equal([used[0], used[0]])
  })

  it('caches at most the configured number of keys', async () => {
    begin({ keyCacheEntriesMax: 1 })
    const [one, two] = [await newKey(), await newKey()]
    await outcome(bearer(one))
    await outcome(bearer(two))
    await revokeAll()
    expect(await outcome(bearer(two))).to.have.property('accountId', accountId)
    expect(await outcome(bearer(one))).to.equal('invalid_api_key')
  })

  it('looks up again only the keys that a change affects', async () => {
    const [one, two] = [await newKey(), await newKey()]
    const { keyId } = (await outcome(bearer(one))) as Caller
    await outcome(bearer(two))
    await revokeAll()
    forget((caller) => caller.keyId === keyId)
    expect(await outcome(bearer(one))).to.equal('invalid_api_key')
    expect(await outcome(bearer(two))).to.have.property('accountId', accountId)
  })

  it('does not cache a row that it read during a change', async () => {
    const key = await newKey()
    const reading = outcome(bearer(key))
    forget(() => true)
    expect(await reading).to.have.property('accountId', accountId)
    await revokeAll()
    expect(await outcome(bearer(key))).to.equal('invalid_api_key')
  })
})
