import { expect } from 'chai'
import {
  cancel,
  ended,
  held,
  houseModel as model,
  startBackground,
  uncached as limits,
} from '../support/background.ts'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, suiteClock, type TestGateway } from '../support/gateway.ts'
import { openAiClient } from '../support/openai-client.ts'
import { ownKey, ownProvider, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import type { Stored } from '../support/stored-responses.ts'
import { until } from '../support/until.ts'

const notFound = { status: 404, code: 'not_found', param: 'response_id' }
const bounds = { backgroundRecheckMs: 20 }

forEachStore('the end of a response in the background', () => {
  let own: OwnEndpoint
  before(async () => {
    own = await startOwnEndpoint({ limits, bounds })
  })
  after(() => own.stop())

  const statusOf = async (gateway: TestGateway, id: string, key = gateway.liveKey) =>
    (await openAiClient(gateway, key).responses.retrieve(id)).status
  const rowsAfter = async (count: number, { gateway } = own) => {
    await until('the call is recorded', async () => (await gateway.usage()).length > count)
    return (await gateway.usage()).slice(count)
  }
  /** Another process with the same store. */
  const beside = (to: OwnEndpoint, options: { clock?: () => number } = {}) =>
    startGateway({
      ...options,
      bounds,
      beside: to.gateway,
      variables: { OWN_API_KEY: ownKey },
      file: { providers: [ownProvider('own', to.upstream)], limits },
    })

  it('is a cancellation, which ends the request to the provider', async () => {
    const rows = (await own.gateway.usage()).length
    const answer = held(own)
    const { id } = await startBackground(own.gateway, { metadata: { purpose: 'test' } })
    await until('the provider is asked', () => own.upstream.requests.length === 1)
    const client = openAiClient(own.gateway, own.gateway.liveKey)
    const cancelled = await client.responses.cancel(id)
    expect(cancelled).to.deep.include({ id, status: 'cancelled', background: true, output: [] })
    await own.upstream.requests[0]!.closed
    expect(own.upstream.requests[0]!.aborted).to.equal(true)
    answer()
    const [row] = await rowsAfter(rows)
    expect(row).to.include({ outcome: 'cancelled', face: 'responses' })
    expect(await client.responses.cancel(id)).to.deep.equal(cancelled)
    expect(await client.responses.retrieve(id)).to.deep.include({ status: 'cancelled' })
    const chained = { model, input: 'Two.', previous_response_id: id }
    const { liveKey: key } = own.gateway
    await expectError(await own.gateway.post('/v1/responses', chained, { key }), {
      status: 400,
      code: 'invalid_value',
      param: 'previous_response_id',
    })
    await client.responses.delete(id)
    await expectError(await cancel(own.gateway, id), notFound)
  })

  it('is one of the two, if it is cancelled as it completes', async () => {
    const seen = new Set<string>()
    const rows = (await own.gateway.usage()).length
    const rounds = 20
    for (let round = 0; round < rounds; round++) {
      const answer = held(own)
      const { id } = await startBackground(own.gateway)
      await until('the provider is asked', () => own.upstream.requests.length === 1)
      answer()
      for (let turn = 0; turn < round % 4; turn++) await statusOf(own.gateway, id)
      const { status } = (await (await cancel(own.gateway, id)).json()) as Stored
      expect(status).to.be.oneOf(['completed', 'cancelled'])
      seen.add(status!)
      const all = await rowsAfter(rows + round)
      expect(all).to.have.length(1)
      expect(await statusOf(own.gateway, id)).to.equal(status)
    }
    expect(seen.has('completed')).to.equal(true)
  })

  it('is not decided by others', async () => {
    const { gateway } = own
    const answer = held(own)
    const { id } = await startBackground(gateway)
    const accountId = await gateway.createAccount()
    const strangers = [
      await gateway.createKey('live', { accountId }),
      await gateway.createKey('live', { models: [model] }),
      gateway.testKey,
    ]
    for (const key of strangers) await expectError(await cancel(gateway, id, key), notFound)
    for (const unknown of ['resp_none', `resp_${'0'.repeat(32)}`])
      await expectError(await cancel(gateway, unknown), notFound)
    answer()
    expect(await ended(gateway, id)).to.include({ status: 'completed' })
    const waited = await startBackground(gateway, { background: false })
    const refused = { status: 400, code: 'invalid_value', param: 'response_id' }
    const { message } = await expectError(await cancel(gateway, waited.id), refused)
    expect(message).to.match(/^Cannot cancel a synchronous response\. .*`background: true`/)
  })

  it('is its deletion', async () => {
    const answer = held(own)
    const { id } = await startBackground(own.gateway)
    await until('the provider is asked', () => own.upstream.requests.length === 1)
    const { responses } = openAiClient(own.gateway, own.gateway.liveKey)
    await responses.delete(id)
    await own.upstream.requests[0]!.closed
    answer()
    await until('no response is left', async () => {
      const items = own.gateway.db.selectFrom('stored_response_items').select('item_id')
      return (await items.where('response_id', '=', id).execute()).length === 0
    })
    await expectError(
      await own.gateway.fetch(`/v1/responses/${id}`, { key: own.gateway.liveKey }),
      notFound,
    )
  })

  it('is the end of its key', async () => {
    const answer = held(own)
    const key = await own.gateway.createKey('live')
    const { id } = await startBackground(own.gateway, {}, key)
    await until('the provider is asked', () => own.upstream.requests.length === 1)
    await own.gateway.db
      .updateTable('api_keys')
      .set({ revoked_at: 1 })
      .where('hint', '=', `${key.slice(0, 9)}…${key.slice(-4)}`)
      .execute()
    const { status, error } = await ended(own.gateway, id)
    expect(status).to.equal('failed')
    expect(error!.message).to.include('revoked')
    answer()
  })

  it('may come from another process, by cancellation or deletion', async () => {
    const other = await beside(own)
    for (const end of ['cancel', 'delete'] as const) {
      const answer = held(own)
      const { id } = await startBackground(own.gateway)
      await until('the provider is asked', () => own.upstream.requests.length === 1)
      // Both gateways of this test are in one process.
      const row = own.gateway.db.updateTable('stored_responses').where('id', '=', id)
      await row.set({ owner: 'another-host 1 a' }).execute()
      await openAiClient(other, own.gateway.liveKey).responses[end](id)
      await own.upstream.requests[0]!.closed
      expect(own.upstream.requests[0]!.aborted).to.equal(true)
      answer()
    }
    await other.stop()
  })

  it('is a failure after the deadline, if its process was killed', async () => {
    held(own)
    const { id } = await startBackground(own.gateway)
    let now = suiteClock()
    const other = await beside(own, { clock: () => now })
    const { liveKey: key } = own.gateway
    expect(await statusOf(other, id, key)).to.equal('in_progress')
    const row = own.gateway.db.selectFrom('stored_responses').where('id', '=', id)
    const { runs_until: runsUntil } = await row.select('runs_until').executeTakeFirstOrThrow()
    now = runsUntil! + 120_001
    const { status, error } = await ended(other, id, key)
    expect({ status, code: error!.code }).to.deep.equal({ status: 'failed', code: 'server_error' })
    expect(error!.message).to.include('stopped before the response was complete')
    expect(await (await cancel(other, id, key)).json()).to.include({ status: 'failed' })
    expect(await statusOf(own.gateway, id)).to.equal('in_progress')
    await openAiClient(own.gateway, key).responses.cancel(id)
    await other.stop()
  })

  it('is awaited when the gateway stops, up to the limit', async () => {
    for (const completes of [true, false]) {
      const stopping = await startOwnEndpoint({ limits: { ...limits, drain_timeout_ms: 400 } })
      const answer = held(stopping)
      const { liveKey } = stopping.gateway
      const { id } = await startBackground(stopping.gateway)
      const other = await beside(stopping)
      await until('the provider is asked', () => stopping.upstream.requests.length === 1)
      const drained = stopping.gateway.drain()
      if (completes) answer()
      await drained
      const { status, error } = await ended(other, id, liveKey)
      expect(status).to.equal(completes ? 'completed' : 'failed')
      if (!completes) {
        expect(error!.code).to.equal('server_error')
        expect(error!.message).to.include('stopped')
      }
      const [row] = await other.usage()
      expect(row).to.include({ outcome: completes ? 'ok' : 'cancelled' })
      await other.stop()
      await stopping.stop()
    }
  })

  it('frees the place of its request', async () => {
    await using one = await startOwnEndpoint({ limits: { ...limits, concurrent_requests_max: 1 } })
    const answer = held(one)
    const { id } = await startBackground(one.gateway)
    const retrieve = () => one.gateway.fetch(`/v1/responses/${id}`, { key: one.gateway.liveKey })
    await expectError(await retrieve(), { status: 503, code: 'overloaded' })
    answer()
    await until('there is a place', async () => (await retrieve()).status === 200)
    expect(await statusOf(one.gateway, id)).to.equal('completed')
  })

  it('does not depend on the connection', async () => {
    const answer = held(own)
    const leaving = new AbortController()
    const response = await fetch(`${own.gateway.url}/v1/responses`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${own.gateway.liveKey}`,
      },
      body: JSON.stringify({ model, input: 'One.', background: true }),
      signal: leaving.signal,
    })
    const { id } = (await response.json()) as Stored
    leaving.abort()
    answer()
    expect(await ended(own.gateway, id)).to.include({ status: 'completed' })
  })
})
