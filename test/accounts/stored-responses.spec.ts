import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { createStoredResponses, type ResponseStore } from '../../src/accounts/stored-responses.ts'
import { createMemoryBudget, uncounted } from '../../src/bytes/memory-budget.ts'
import { GatewayError } from '../../src/core/error.ts'
import type { StoredItem } from '../../src/core/stored-responses.ts'
import { bounds } from '../../src/settings/bounds.ts'
import { createEncryption } from '../../src/storage/encryption.ts'
import type { GuardedStore } from '../../src/storage/store-guard.ts'
import { forEachStore } from '../support/each-store.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openGuardedStore } from '../support/store.ts'

const dayMs = 86_400_000
const caller = { accountId: 'acc_1', keyId: 'key_1', mode: 'live', models: null } as const

forEachStore('the rows of stored responses', () => {
  let folder: TemporaryFolder
  let store: GuardedStore
  let responses: ResponseStore
  let now = Date.parse('2026-11-22T12:00:00Z')
  const reports: unknown[] = []
  const running = new Set<string>()
  const openWith = (encryptionKey: string) =>
    createStoredResponses({
      onEvent: () => undefined,
      store,
      encryption: createEncryption({
        dataDir: folder.path,
        encryptionKey: Buffer.alloc(32, encryptionKey).toString('base64'),
        databaseUrl: undefined,
      }),
      limits: () => ({ ...bounds, storedResponsesDays: 2 }),
      clock: () => now,
      isRunning: (id) => running.has(id),
      events: { worked: (work, error) => void reports.push(error ?? work), faulted: reports.push },
    })
  beforeEach(async () => {
    folder = makeFolder()
    store = await openGuardedStore(folder.path)
    responses = openWith('one')
    reports.length = 0
  })
  afterEach(async () => {
    responses.close()
    await store.close()
    folder.remove()
  })

  const put = (id: string, input: readonly StoredItem[], output: readonly StoredItem[]) =>
    responses.put(
      caller,
      // The store reads only the output.
      { id, createdAtMs: now, input, response: { id, output } as unknown as Response },
      uncounted,
    )
  const texts = async (...ids: string[]) => {
    const found = await responses.items(caller, ids, uncounted)
    return ids.map((id) => found.get(id) && textOf(found.get(id)!))
  }
  const count = async (table: 'stored_responses' | 'stored_response_items') =>
    (await store.db.selectFrom(table).select('account_id').execute()).length

  it('are swept after their time, with their items', async () => {
    await put('resp_1', [item(1)], [item(2)])
    now += dayMs
    await put('resp_2', [item(1), item(2), item(3)], [item(4)])
    now += dayMs
    await responses.sweep()
    expect([await count('stored_responses'), await count('stored_response_items')]).to.deep.equal([
      1, 4,
    ])
    expect(await texts(idOf(1), idOf(4))).to.deep.equal(['Text 1', 'Text 4'])
    now += dayMs
    await responses.sweep()
    expect([await count('stored_responses'), await count('stored_response_items')]).to.deep.equal([
      0, 0,
    ])
    expect(reports).to.deep.equal(['stored_responses', 'stored_responses'])
  })

  it('are not lost while they run, though a clock jumps ahead by 40 days', async () => {
    const [id, createdAtMs] = ['resp_1', now]
    const stored = (status: 'in_progress' | 'completed') => ({
      id,
      createdAtMs,
      input: [item(1)],
      response: { id, status, output: status === 'completed' ? [item(2)] : [] },
    })
    const begun = { ...stored('in_progress'), runsUntil: now + 600_000 } as never
    await responses.put(caller, begun, uncounted)
    running.add(id)
    const statusNow = async () => (await responses.get(caller, id, uncounted))?.response.status
    now += 40 * dayMs
    await responses.sweep()
    expect(await statusNow()).to.equal('in_progress')
    expect(await responses.end(caller, stored('completed') as never, uncounted)).to.equal('stored')
    running.clear()
    now += 2 * dayMs - 1
    await responses.sweep()
    expect(await statusNow()).to.equal('completed')
    now += 60_000
    await responses.sweep()
    expect(await count('stored_responses')).to.equal(0)
  })

  it('keep a conversation of thousands of items, whose newest ones have an entry', async () => {
    const input = Array.from({ length: 3000 }, (_, index) => item(index))
    expect(await put('resp_1', input, [item(3000)])).to.equal('stored')
    expect((await responses.get(caller, 'resp_1', uncounted))!.input).to.deep.equal(input)
    const ids = [0, 2001, 3000].map(idOf)
    expect(await texts(...ids)).to.deep.equal([undefined, 'Text 2001', 'Text 3000'])
    expect(await count('stored_response_items')).to.equal(1000)
  })

  it('have no entry for ids that clients made', async () => {
    await put('resp_1', [{ ...item(1), id: 'msg_1' }], [item(2)])
    expect(await texts('msg_1', idOf(2))).to.deep.equal([undefined, 'Text 2'])
  })

  it('are found by ids of an output in any form, which later responses keep', async () => {
    const ids = [`rs_${'0a'.repeat(25)}`, 'Ab-9', `call.${'é'.repeat(200)}`]
    const output = ids.map((id, index) => ({ ...item(index), id }))
    await put('resp_1', [], output)
    expect(await texts(...ids)).to.deep.equal(['Text 0', 'Text 1', 'Text 2'])
    await put('resp_2', [...output.toReversed(), { ...item(3), id: 'msg_1' }], [item(4)])
    await responses.remove(caller, 'resp_1')
    expect(await texts(...ids, 'msg_1')).to.deep.equal(['Text 0', 'Text 1', 'Text 2', undefined])
    await responses.remove(caller, 'resp_2')
    expect(await count('stored_response_items')).to.equal(0)
  })

  it('are missing without their encryption key', async () => {
    await put('resp_1', [item(1)], [item(2)])
    responses.close()
    responses = openWith('two')
    expect(await responses.get(caller, 'resp_1', uncounted)).to.equal(undefined)
    expect(await texts(idOf(1))).to.deep.equal([undefined])
    expect(await responses.remove(caller, 'resp_1')).to.equal(true)
  })

  it('are read only if there is memory for them', async () => {
    const long = { ...item(1), content: [{ type: 'input_text', text: 'x'.repeat(100_000) }] }
    await put('resp_1', [long as StoredItem], [item(2)])
    const small = createMemoryBudget({ bytesMax: 100_000, graceMs: 2000, now: () => 0 }).open()
    for (const read of [
      () => responses.get(caller, 'resp_1', small),
      () => responses.items(caller, [idOf(2)], small),
    ]) {
      const error: unknown = await read().catch((thrown: unknown) => thrown)
      expect(error).to.be.instanceOf(GatewayError).and.include({ code: 'request_too_large' })
    }
  })

  it('are stored by two processes at once, in a conversation with the same items', async () => {
    const vendors = Array.from({ length: 50 }, (_, index) => ({
      ...item(index),
      id: `rs_${index}`,
    }))
    await put('resp_v', [], vendors)
    const own = Array.from({ length: 50 }, (_, index) => item(index))
    const input = own.flatMap((one, index) => [one, vendors[index]!])
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        put(`resp_${index}`, index % 2 === 0 ? input : input.toReversed(), [item(100 + index)]),
      ),
    )
    expect(new Set(outcomes)).to.deep.equal(new Set(['stored']))
    expect(await count('stored_response_items')).to.equal(120)
  })
})

type Response = components['schemas']['ModelResponse']

const idOf = (number: number): string => `msg_${String(number).padStart(32, '0')}`

function item(number: number): StoredItem {
  const content = [{ type: 'input_text' as const, text: `Text ${number}` }]
  return { type: 'message', role: 'user', id: idOf(number), content }
}

function textOf(found: StoredItem): string | undefined {
  const [part] = found.type === 'message' && Array.isArray(found.content) ? found.content : []
  return part?.type === 'input_text' ? part.text : undefined
}
