import { expect } from 'chai'
import { createKeyWatch, type KeyWatch } from '../../src/accounts/key-watch.ts'
import type { Store } from '../../src/storage/store.ts'
import { callerOf } from '../support/callers.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { accountsOf, revokeStoredKeys, storeKey } from '../support/keys.ts'
import { openTestStore } from '../support/store.ts'
import { until } from '../support/until.ts'

describe('the watch on keys and sessions', () => {
  const clock = () => 1_800_000_000_000
  let folder: TemporaryFolder
  let store: Store
  let watch: KeyWatch
  beforeEach(async () => {
    folder = makeFolder()
    store = await openTestStore(folder.path)
    // The interval is so long that the timer never fires in this test.
    const limits = { keyRecheckMs: 3_600_000, sessionIdleSeconds: 3600 }
    watch = createKeyWatch({ store, clock, ...limits })
  })
  afterEach(async () => {
    watch.close()
    await store.close()
    folder.remove()
  })
  const openAs = (caller: ReturnType<typeof callerOf>) => {
    const open = { caller, ending: new AbortController() }
    watch.follow(open)
    return open.ending.signal
  }

  it("ends a session's exchanges when a change is announced", async () => {
    const person = { id: 'usr_1', sessionId: 'ses_over', csrfToken: '', role: 'owner' } as const
    const signal = openAs(callerOf({ keyId: 'ses_over', person }))
    watch.look()
    await until('it is ended', () => signal.aborted)
    expect(signal.reason).to.have.nested.property('error.code', 'invalid_session')
  })

  it('checks again after a change that is announced during a check', async () => {
    const { id: accountId } = await accountsOf(store, clock).accounts.first()
    await storeKey(store, { accountId, mode: 'live', now: clock() })
    const { id: keyId } = await store.db
      .selectFrom('api_keys')
      .select('id')
      .executeTakeFirstOrThrow()
    const signal = openAs(callerOf({ accountId, keyId }))
    watch.look()
    const revoked = revokeStoredKeys(store, clock())
    watch.look()
    await revoked
    await until('it is ended', () => signal.aborted)
    expect(signal.reason).to.have.nested.property('error.code', 'invalid_api_key')
  })
})
