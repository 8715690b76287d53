import { expect } from 'chai'
import { createAudit } from '../../src/accounts/audit.ts'
import { createDeliverer, type Deliverer } from '../../src/accounts/webhooks/deliverer.ts'
import type { Post } from '../../src/accounts/webhooks/send.ts'
import { sweepDeliveries } from '../../src/accounts/webhooks/delivery-history.ts'
import { publishing } from '../../src/accounts/webhooks/publishing.ts'
import { newSecret, sealedSecrets } from '../../src/accounts/webhooks/secrets.ts'
import { createEncryption } from '../../src/storage/encryption.ts'
import type { Store } from '../../src/storage/store.ts'
import { accountRow } from '../support/callers.ts'
import { forEachStore } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openTestStore } from '../support/store.ts'
import { until } from '../support/until.ts'

forEachStore('the queue of webhook deliveries', () => {
  let folder: TemporaryFolder
  let stores: Store[]
  let store: Store
  let now = Date.parse('2026-11-22T12:00:00Z')
  const deliverers: Deliverer[] = []
  const faults: unknown[] = []
  const outcomes: string[] = []
  beforeEach(async () => {
    folder = makeFolder()
    stores = [await openTestStore(folder.path)]
    store = stores[0]!
    faults.length = 0
    outcomes.length = 0
  })
  afterEach(async () => {
    await Promise.all(deliverers.splice(0).map(({ close }) => close()))
    for (const one of stores) await one.close()
    folder.remove()
    expect(faults).to.deep.equal([])
  })

  const encryption = createEncryption({
    dataDir: '/nowhere',
    encryptionKey: Buffer.alloc(32, 'test').toString('base64'),
    databaseUrl: undefined,
  })
  const deliverWith = (post: Post, from = store) => {
    const deliverer = createDeliverer({
      store: from,
      encryption,
      audit: createAudit(from, () => now),
      post,
      sendMail: undefined,
      dashboard: 'https://gateway.example/dashboard',
      limits: { webhookLookMs: 3_600_000, webhookAnswerTimeoutMs: 1000 },
      clock: () => now,
      monotonic: () => now,
      onLooked: (error) => void (error !== undefined && faults.push(error)),
      onAttempt: (outcome) => void outcomes.push(outcome),
    })
    deliverers.push(deliverer)
    return deliverer
  }
  const addWebhook = async (account: string, id = `whk_${account}`) => {
    const place = { id, account_id: account }
    const exists = store.db.selectFrom('accounts').select('id').where('id', '=', account)
    if ((await exists.executeTakeFirst()) === undefined)
      await store.db.insertInto('accounts').values(accountRow(account)).execute()
    await store.db
      .insertInto('webhooks')
      .values({
        ...place,
        kind: 'webhook',
        name: account,
        url: `https://${account}.example/`,
        mode: 'live',
        events: '["response.completed"]',
        enabled: 1,
        gone_at: null,
        created_by: 'usr_1',
        ...sealedSecrets(encryption, [newSecret()], place),
        previous_secret_until: null,
        created_at: now,
      })
      .execute()
  }
  const publish = async (accountId: string, count: number) => {
    const event = { accountId, mode: 'live', type: 'response.completed' } as const
    for (let from = 0; from < count; from += 500)
      await store.commit(
        Array.from({ length: Math.min(500, count - from) }, (_, index) =>
          publishing({ ...event, objectId: `resp_${from + index}` }, now).compile(store.db),
        ),
      )
  }
  const sweepOnce = async () => {
    const onSwept = (error?: unknown) => void (error !== undefined && faults.push(error))
    const sweep = sweepDeliveries({ store, clock: () => now, onSwept })
    await sweep.look()
    sweep.close()
  }
  const states = async (account?: string) => {
    const rows = store.db.selectFrom('webhook_deliveries').select(['state', 'id', 'account_id'])
    const found = await (
      account === undefined ? rows : rows.where('account_id', '=', account)
    ).execute()
    return Object.fromEntries(
      [...Map.groupBy(found, ({ state }) => state)].map(([state, all]) => [state, all.length]),
    )
  }
  const idOf = ({ headers }: Parameters<Post>[1]) => headers['webhook-id']!

  it('has an event in the transaction of its object, or not at all', async () => {
    await addWebhook('acc_1')
    const event = { accountId: 'acc_1', mode: 'live', type: 'response.completed' } as const
    const failed = store.db.transaction().execute(async (transaction) => {
      await publishing({ ...event, objectId: 'resp_1' }, now).execute(transaction)
      throw new Error('The change fails.')
    })
    await failed.catch(() => undefined)
    expect(await states()).to.deep.equal({})
  })

  it('sends 10,000 events of an account a few at a time, and others at once', async () => {
    await addWebhook('acc_full')
    await addWebhook('acc_small')
    await publish('acc_full', 10_000)
    const gates: (() => void)[] = []
    const small = 'https://acc_small.example/'
    let open = 0
    let most = 0
    const sent: string[] = []
    const deliverer = deliverWith(async (address, { signal }) => {
      sent.push(address)
      open += 1
      most = Math.max(most, open)
      await new Promise<void>((resolve) => {
        if (address === small) resolve()
        else gates.push(resolve)
        signal.addEventListener('abort', () => resolve())
      })
      open -= 1
      return { status: 204 }
    })
    await deliverer.look()
    await until('four are being sent', () => open === 4)
    await publish('acc_small', 1)
    await deliverer.look()
    await until('the other account is served', () => sent.includes(small))
    // A hundred more, one after the other.
    for (let count = 0; count < 100; count++) {
      const before = sent.length
      gates.shift()!()
      await until('the next is sent', () => sent.length > before)
    }
    expect(most).to.be.at.most(5)
  })

  it('is shared by two processes, which send each event once', async () => {
    for (const account of ['acc_1', 'acc_2', 'acc_3']) await addWebhook(account)
    for (const account of ['acc_1', 'acc_2', 'acc_3']) await publish(account, 40)
    stores.push(await openTestStore(folder.path))
    const sent = new Map<string, number>()
    const post: Post = async (_address, request) => {
      sent.set(idOf(request), (sent.get(idOf(request)) ?? 0) + 1)
      await new Promise((resolve) => setImmediate(resolve))
      return { status: 200 }
    }
    const both = stores.map((one) => deliverWith(post, one))
    await until('all are delivered', async () => {
      await Promise.all(both.map(({ look }) => look()))
      return (await states())['delivered'] === 120
    })
    expect(sent.size).to.equal(120)
    expect(new Set(sent.values())).to.deep.equal(new Set([1]))
  })

  it('sends an event again, with its id, a minute after its process died', async () => {
    await addWebhook('acc_1')
    await publish('acc_1', 1)
    const ids: string[] = []
    const died = deliverWith(async (_address, request) => {
      ids.push(idOf(request))
      return new Promise(() => undefined)
    })
    void died.look()
    await until('it is being sent', () => ids.length === 1)
    deliverers.splice(0)
    const next = deliverWith(async (_address, request) => {
      ids.push(idOf(request))
      return { status: 200 }
    })
    now += 59_999
    await next.look()
    expect(ids).to.have.length(1)
    now += 1
    await next.look()
    await until('it is delivered', async () => (await states())['delivered'] === 1)
    expect(ids).to.have.length(2)
    expect(ids[1]).to.equal(ids[0])
  })

  it('releases what is being sent when its process stops', async () => {
    await addWebhook('acc_1')
    await publish('acc_1', 1)
    let calls = 0
    const stopping = deliverWith(async (_address, { signal }) => {
      calls += 1
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return { error: 'The receiver cannot be reached.' }
    })
    await stopping.look()
    await until('it is being sent', () => calls === 1)
    deliverers.splice(0)
    await stopping.close()
    await deliverWith(async () => {
      calls += 1
      return { status: 200 }
    }).look()
    await until('it is delivered', async () => (await states())['delivered'] === 1)
    const [row] = await store.db.selectFrom('webhook_deliveries').select('tries').execute()
    expect([calls, row?.tries]).to.deep.equal([2, 1])
  })

  it('keeps deliveries for 30 days, and the newest 20,000 of an account', async () => {
    await addWebhook('acc_1')
    await publish('acc_1', 20_100)
    await addWebhook('acc_2')
    await publish('acc_2', 3)
    await sweepOnce()
    expect(await states('acc_1')).to.deep.equal({ pending: 20_000 })
    expect(await states('acc_2')).to.deep.equal({ pending: 3 })
    // A clock that was ahead by a year when a retry was planned.
    await store.db
      .updateTable('webhook_deliveries')
      .set({ next_at: now + 365 * 86_400_000 })
      .where('account_id', '=', 'acc_2')
      .execute()
    now += 600_000
    await sweepOnce()
    const dueNow = async () => {
      const rows = store.db.selectFrom('webhook_deliveries').select('id')
      const own = rows.where('account_id', '=', 'acc_2')
      return (await own.where('next_at', '<=', now).execute()).length
    }
    expect(await dueNow()).to.equal(3)
    now += 3_600_000
    await publish('acc_2', 1)
    // The clock is set back before they are sent.
    now -= 3_600_000 - 600_000
    expect(await dueNow()).to.equal(3)
    await sweepOnce()
    expect(await dueNow()).to.equal(4)
    now += 30 * 86_400_000
    await sweepOnce()
    // A clock that jumps ahead removes no event that has not been sent.
    expect(await states('acc_2')).to.deep.equal({ pending: 4 })
    const ended = { state: 'delivered', next_at: null } as const
    await store.db.updateTable('webhook_deliveries').set(ended).execute()
    now += 3_600_000
    await sweepOnce()
    expect(await states()).to.deep.equal({})
  })
})
