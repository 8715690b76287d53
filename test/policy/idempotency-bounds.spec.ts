import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { completion, streamed } from '../support/chat-answers.ts'
import { expectError } from '../support/expect-error.ts'
import { makeFolder } from '../support/folder.ts'
import { startOwnEndpoint } from '../support/own-endpoint.ts'
import { forEachStore } from '../support/each-store.ts'

const inUse = { status: 409, code: 'idempotency_key_in_use' } as const
const reused = { status: 409, code: 'idempotency_key_reused' } as const

let count = 0
/** A key unique to the test. */
const newKey = () => `bound-${++count}`

forEachStore('what is kept for an idempotency key', (kind) => {
  it('is deleted after a day, and not before', async () => {
    let now = Date.parse('2026-11-22T12:00:00Z')
    await using own = await startOwnEndpoint({ clock: () => now, limits: { cache_ttl_seconds: 0 } })
    own.upstream.answer((_request, index) => completion(`Answer ${index}.`))
    const headers = { 'idempotency-key': newKey() }
    const first = await (await own.chat({}, { headers })).text()
    now += 86_399_000
    expect(await (await own.chat({}, { headers })).text()).to.equal(first)
    now -= 3_600_000
    expect(await (await own.chat({}, { headers })).text()).to.equal(first)
    now += 3_601_000
    const anew = await own.chat({}, { headers })
    expect(anew.headers.get('idempotent-replayed')).to.equal(null)
    expect(own.upstream.requests).to.have.length(2)
  })

  it('is kept for the days of the setting', async () => {
    let now = Date.parse('2026-11-22T12:00:00Z')
    const limits = { cache_ttl_seconds: 0, idempotent_answer_days: 3 }
    await using own = await startOwnEndpoint({ clock: () => now, limits })
    own.upstream.answer((_request, index) => completion(`Answer ${index}.`))
    const headers = { 'idempotency-key': newKey() }
    await (await own.chat({}, { headers })).text()
    now += 3 * 86_400_000 - 1000
    const replayed = await own.chat({}, { headers })
    expect(replayed.headers.get('idempotent-replayed')).to.equal('true')
    now += 1001
    const anew = await own.chat({}, { headers })
    expect(anew.headers.get('idempotent-replayed')).to.equal(null)
  })

  it('is not restarted by a replica whose clock is a minute ahead while another one may run it', async () => {
    let now = Date.parse('2026-11-22T12:00:00Z')
    const limits = { cache_ttl_seconds: 0, chat_timeout_ms: 1000, image_timeout_ms: 1000 }
    await using own = await startOwnEndpoint({ clock: () => now, limits })
    own.upstream.answer((_request, index) => completion(`Answer ${index}.`))
    const headers = { 'idempotency-key': newKey() }
    await (await own.chat({}, { headers })).text()
    const update = own.gateway.db.updateTable('idempotent_answers')
    await update.set({ state: 'in_progress', owner: 'elsewhere 1 any' }).execute()
    // Advances the clock past the deadline of the call by more than a minute.
    now += 1000 + 60_000 + 60_000
    await expectError(await own.chat({}, { headers }), inUse)
    now += 60_000
    const repeated = await own.chat({}, { headers })
    expect([repeated.status, await repeated.text()]).to.deep.include(200)
    expect(own.upstream.requests).to.have.length(2)
  })

  it('is not restarted while it runs, though its time is over', async () => {
    let now = Date.parse('2026-11-22T12:00:00Z')
    await using own = await startOwnEndpoint({ clock: () => now, limits: { cache_ttl_seconds: 0 } })
    const go = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    own.upstream.answer(() => {
      asked.resolve()
      return { ...completion('Hi.'), after: go.promise }
    })
    const headers = { 'idempotency-key': newKey() }
    const first = own.chat({}, { headers })
    await asked.promise
    now += 90_000_000
    const response = await own.chat({}, { headers })
    expect(response.headers.get('retry-after')).to.equal('30')
    await expectError(response, inUse)
    go.resolve()
    expect((await first).status).to.equal(200)
    expect(own.upstream.requests).to.have.length(1)
  })

  it('is not stored when it is too large, which the next request reports', async () => {
    const bounds = { idempotencyAnswerBytesMax: 1024 }
    await using own = await startOwnEndpoint({ limits: { cache_ttl_seconds: 0 }, bounds })
    for (const [body, answer] of [
      [{}, completion('x'.repeat(2000))],
      [{ stream: true }, streamed(['x'.repeat(2000)])],
    ] as const) {
      own.upstream.answer(answer)
      const headers = { 'idempotency-key': newKey() }
      const first = await own.chat(body, { headers })
      expect(first.status, await first.text()).to.equal(200)
      const again = await own.chat(body, { headers })
      expect(again.headers.get('x-should-retry')).to.equal('false')
      await expectError(again, reused)
      const allowed = { ...headers, 'x-gateway-allow-repeat': 'true' }
      expect((await own.chat(body, { headers: allowed })).status).to.equal(200)
    }
  })

  it('is refused once the storage is full; requests without a key are not', async () => {
    const bounds = { idempotencyBytesMax: 1_048_576 }
    await using own = await startOwnEndpoint({ limits: { cache_ttl_seconds: 0 }, bounds })
    own.upstream.answer(completion('x'.repeat(600_000)))
    const ask = (key: string) => own.chat({}, { headers: { 'idempotency-key': key } })
    expect((await ask('one')).status).to.equal(200)
    await expectError(await ask('two'), { status: 429, code: 'rate_limit_exceeded' })
    expect((await own.chat()).status).to.equal(200)
    expect(own.upstream.requests).to.have.length(2)
  })

  if (kind === 'sqlite')
    it('is reserved before a provider is called: a locked store is 503', async () => {
      const folder = makeFolder()
      const own = await startOwnEndpoint({
        limits: { cache_ttl_seconds: 0 },
        bounds: { storeBusyTimeoutMs: 20 },
        variables: { DATA_DIR: folder.path },
      })
      own.upstream.answer(completion('Hi.'))
      expect((await own.chat()).status).to.equal(200)
      const other = new DatabaseSync(join(folder.path, 'gateway.db'))
      other.exec('BEGIN IMMEDIATE')
      const headers = { 'idempotency-key': newKey() }
      const response = await own.chat({}, { headers })
      await expectError(response, { status: 503, code: 'overloaded' })
      expect(own.upstream.requests).to.have.length(1)
      other.exec('ROLLBACK')
      other.close()
      await own.stop()
      folder.remove()
    })
})
