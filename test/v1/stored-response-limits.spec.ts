import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inflateRawSync } from 'node:zlib'
import { expect } from 'chai'
import { sql } from 'kysely'
import { completion, streamed } from '../support/chat-answers.ts'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { answerWith, reference, type Stored } from '../support/stored-responses.ts'

const limits = { cache_ttl_seconds: 0 }
const notFound = { status: 404, code: 'not_found' }

/** The bytes as raw DEFLATE: about 1 in 200 random strings inflates to something. */
const inflated = (bytes: Uint8Array) => {
  try {
    return inflateRawSync(bytes)
  } catch {
    return Buffer.alloc(0)
  }
}

forEachStore('the store of responses', (kind) => {
  const post = (to: OwnEndpoint, body: object) =>
    to.gateway.post('/v1/responses', { model: 'own/house-1', ...body }, { key: to.gateway.liveKey })
  const create = async (to: OwnEndpoint, body: object) => {
    const response = await post(to, body)
    expect(response.status).to.equal(200)
    return (await response.json()) as Stored
  }

  it('is encrypted', async () => {
    await using own = await startOwnEndpoint({ limits })
    own.upstream.answer(completion('The password of the lighthouse is Fresnel.'))
    const { id } = await create(own, { input: 'A secret of the lighthouse keeper.' })
    const rows = own.gateway.db.selectFrom('stored_responses').where('id', '=', id)
    const row = await rows.selectAll().executeTakeFirstOrThrow()
    const places = [Buffer.from(row.ciphertext), inflated(row.ciphertext), own.gateway.logText()]
    if (kind === 'sqlite') {
      const files = readdirSync(own.gateway.dataDir).filter((name) => name.startsWith('gateway.db'))
      expect(files).to.include('gateway.db')
      for (const name of files) places.push(readFileSync(join(own.gateway.dataDir, name)))
    }
    for (const place of places) {
      expect(place.includes('lighthouse')).to.equal(false)
      expect(place.includes('Fresnel')).to.equal(false)
    }
    // A row that is moved to another account cannot be read there.
    const accountId = await own.gateway.createAccount()
    const key = await own.gateway.createKey('live', { accountId })
    const moved = own.gateway.db.updateTable('stored_responses').set({ account_id: accountId })
    await moved.where('id', '=', id).execute()
    await expectError(await own.gateway.fetch(`/v1/responses/${id}`, { key }), notFound)
  })

  it('may fail: the response, which is paid, is returned with `store: false`', async () => {
    await using own = await startOwnEndpoint({ limits })
    answerWith(own)
    const { db } = own.gateway
    const refuse =
      kind === 'sqlite'
        ? sql`create trigger refusing before insert on stored_responses
            begin select raise(abort, 'refused'); end`
        : sql`alter table stored_responses add constraint refusing check (size_bytes < 0) not valid`
    const accept =
      kind === 'sqlite'
        ? sql`drop trigger refusing`
        : sql`alter table stored_responses drop constraint refusing`
    await refuse.execute(db)
    try {
      const whole = await create(own, { input: 'One.' })
      expectNotStored(whole)
      expect(whole.output).to.have.length(1)
      own.upstream.answer(streamed(['Hello.']))
      const text = await (await post(own, { input: 'One.', stream: true })).text()
      const [, data = ''] = /event: response\.completed\ndata: (.*)\n/.exec(text) ?? []
      expectNotStored((JSON.parse(data) as { response: Stored }).response)
    } finally {
      await accept.execute(db)
    }
  })

  it('forgets responses after 30 days', async () => {
    let now = Date.parse('2026-11-22T12:00:00Z')
    await using aging = await startOwnEndpoint({ limits, clock: () => now })
    answerWith(aging)
    const { id, output } = await create(aging, { input: 'One.' })
    const status = async (body: object) => (await post(aging, body)).status
    const chained = { input: 'Two.', previous_response_id: id, store: false }
    const referring = { input: [reference(output[0]!.id!)], store: false }
    now += 30 * 86_400_000 - 1000
    expect([await status(chained), await status(referring)]).to.deep.equal([200, 200])
    now += 1000
    expect([await status(chained), await status(referring)]).to.deep.equal([404, 404])
  })

  it('refuses responses that are too large, with a warning', async () => {
    const bounds = { storedResponseBytesMax: 4000 }
    await using small = await startOwnEndpoint({ limits, bounds })
    small.upstream.answer(completion('x'.repeat(4000)))
    expectNotStored(await create(small, { input: 'One.' }))
  })

  it('removes the oldest responses when the space of the account is used up', async () => {
    const bounds = { storedResponsesBytesMax: 5000 }
    await using small = await startOwnEndpoint({ limits, bounds })
    answerWith(small)
    const { liveKey } = small.gateway
    const ids: string[] = []
    for (let count = 0; count < 6; count++) ids.push((await create(small, { input: 'One.' })).id)
    const statuses = await Promise.all(
      ids.map(async (id) => {
        const path = `/v1/responses/${id}`
        return (await small.gateway.fetch(path, { key: liveKey })).status
      }),
    )
    expect(statuses[0]).to.equal(404)
    expect(statuses.at(-1)).to.equal(200)
    expect(statuses).to.deep.equal(statuses.toSorted((a, b) => b - a))
  })

  it('can be switched off', async () => {
    await using off = await startOwnEndpoint({ limits: { ...limits, stored_responses_days: 0 } })
    answerWith(off)
    const asked = (body: object) => post(off, body)
    const response = await create(off, { input: 'One.' })
    expect(response).to.include({ store: false }).and.not.have.property('warnings')
    const refused = { status: 400, code: 'unsupported_value', param: 'store' }
    const { message } = await expectError(await asked({ input: 'One.', store: true }), refused)
    expect(message).to.equal('This gateway stores no responses. Send `store: false`.')
    for (const [body, param] of [
      [{ input: 'Two.', previous_response_id: response.id }, 'previous_response_id'],
      [{ input: [reference('msg_1')] }, 'input[0].id'],
    ] as const) {
      const refusal = { status: 400, code: 'unsupported_parameter', param }
      expect((await expectError(await asked(body), refusal)).message).to.include('`store: false`')
    }
  })

  if (kind === 'postgres')
    it('needs an encryption key', async () => {
      const variables = { ENCRYPTION_KEY: '' }
      await using keyless = await startOwnEndpoint({ limits, variables })
      answerWith(keyless)
      expect(await create(keyless, { input: 'One.' })).to.include({ store: false })
    })
})

function expectNotStored({ store, warnings = [] }: Stored): void {
  expect(store).to.equal(false)
  expect(warnings.map(({ param }) => param)).to.deep.equal(['store'])
}
