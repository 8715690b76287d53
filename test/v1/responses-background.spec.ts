import { expect } from 'chai'
import { sql } from 'kysely'
import type OpenAI from 'openai'
import {
  cancel,
  comparable,
  ended,
  held,
  houseModel as model,
  startBackground,
  uncached as limits,
} from '../support/background.ts'
import { setBudgetOfKey } from '../support/budgets.ts'
import { chatVendors, startVendorGateway } from '../support/chat-vendors.ts'
import { completion } from '../support/chat-answers.ts'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { asksForImage, imagesIn, startImageTool, type ImageAnswer } from '../support/image-tool.ts'
import { openAiClient } from '../support/openai-client.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import type { Spoken } from '../support/spoken.ts'
import type { Stored } from '../support/stored-responses.ts'
import { until } from '../support/until.ts'

const running = { status: 'in_progress', background: true, error: null, usage: null }
const weather = {
  type: 'function' as const,
  name: 'weather',
  strict: false,
  parameters: { type: 'object', properties: { town: { type: 'string' } } },
}

forEachStore('responses in the background', (kind) => {
  let own: OwnEndpoint
  let client: OpenAI
  before(async () => {
    own = await startOwnEndpoint({ limits })
    client = openAiClient(own.gateway, own.gateway.liveKey)
  })
  after(() => own.stop())

  const post = (body: object, { gateway } = own, headers = {}, key = gateway.liveKey) => {
    const asked = { model, input: 'One.', background: true, ...body }
    return gateway.post('/v1/responses', asked, { key, headers })
  }

  it('are answered at once, and are then equal to those of a call that waits', async () => {
    const answer = held(own)
    const asked = { instructions: 'Be brief.', metadata: { purpose: 'test' } }
    const created = await startBackground(own.gateway, asked)
    expect(created).to.include({ ...running, model })
    expect(created.output).to.deep.equal([])
    expect(await client.responses.retrieve(created.id)).to.deep.include({ ...running, output: [] })
    const { data } = await client.responses.inputItems.list(created.id)
    expect(data).to.have.length(1)
    answer()
    const whole = await ended(own.gateway, created.id)
    expect(whole).to.include({ status: 'completed', background: true, store: true })
    expect((await client.responses.inputItems.list(created.id)).data).to.deep.equal(data)
    const waited = (await startBackground(own.gateway, { ...asked, background: false })) as Stored
    expect(comparable(whole)).to.deep.equal(comparable({ ...waited, background: true }))
    await startBackground(own.gateway, { previous_response_id: whole.id, background: false })
    const { messages } = own.upstream.requests.at(-1)!.body as { messages: unknown[] }
    expect(messages).to.have.length(3)
  })

  it('end as the vendor ends them', async () => {
    const endOf = async (answer: Parameters<OwnEndpoint['upstream']['answer']>[0]) => {
      own.upstream.answer(answer)
      return ended(own.gateway, (await startBackground(own.gateway)).id)
    }
    const cut = await endOf(completion('Hel', { finish: 'length' }))
    expect(cut).to.include({ status: 'incomplete', completed_at: null })
    expect(cut.incomplete_details).to.deep.equal({ reason: 'max_output_tokens' })
    const failed = await endOf({ status: 500 })
    expect(failed).to.include({ status: 'failed', completed_at: null, background: true })
    expect(failed.error).to.include({ code: 'server_error' })
    expect(failed.error!.message).to.not.equal('')
    const refused = { status: 400, body: { error: { message: 'No.', code: 'x' } } }
    expect((await endOf(refused)).error).to.include({ code: 'invalid_prompt' })
    const chained = { previous_response_id: failed.id }
    const { message } = await expectError(await post(chained), {
      status: 400,
      code: 'invalid_value',
      param: 'previous_response_id',
    })
    expect(message).to.include('is failed').and.include('Send its input again.')
  })

  it('cannot be continued before they have ended', async () => {
    const answer = held(own)
    const { id } = await startBackground(own.gateway)
    const expected = { status: 400, code: 'invalid_value', param: 'previous_response_id' }
    const { message } = await expectError(await post({ previous_response_id: id }), expected)
    expect(message).to.include(id).and.include('Wait until it has ended.')
    answer()
    await ended(own.gateway, id)
  })

  it('are refused at once where a call that waits would be', async () => {
    own.upstream.answer(completion('Hello.'))
    const before = await own.gateway.db.selectFrom('stored_responses').select('id').execute()
    const unknown = { status: 404, code: 'model_not_found', param: 'model' }
    await expectError(await post({ model: 'gpt-0' }), unknown)
    const wrong = { status: 400, code: 'invalid_value', param: 'input[0]' }
    const item = { type: 'function_call_output', call_id: 'c', output: 'x' }
    await expectError(await post({ input: [item] }), wrong)
    const key = await own.gateway.createKey('live')
    await own.gateway.allow({ requests_per_minute: 0 }, key)
    const limited = { status: 429, code: 'rate_limit_exceeded' }
    await expectError(await post({}, own, {}, key), limited)
    const after = await own.gateway.db.selectFrom('stored_responses').select('id').execute()
    expect(after).to.have.length(before.length)
    expect(own.upstream.requests).to.deep.equal([])
  })

  it('do not begin if they cannot be stored', async () => {
    own.upstream.answer(completion('Hello.'))
    const { db } = own.gateway
    const rows = (await own.gateway.usage()).length
    const refuse =
      kind === 'sqlite'
        ? sql`create trigger refusing before insert on stored_responses
            begin select raise(abort, 'refused'); end`
        : sql`alter table stored_responses add constraint refusing check (size_bytes < 0) not valid`
    await refuse.execute(db)
    try {
      await expectError(await post({}), { status: 503, code: 'overloaded' })
    } finally {
      await (
        kind === 'sqlite'
          ? sql`drop trigger refusing`
          : sql`alter table stored_responses drop constraint refusing`
      ).execute(db)
    }
    await using small = await startOwnEndpoint({ limits, bounds: { storedResponseBytesMax: 4000 } })
    small.upstream.answer(completion('x'.repeat(4000)))
    const large = { status: 413, code: 'request_too_large', param: 'background' }
    await expectError(await post({ input: 'x'.repeat(4000) }, small), large)
    expect([own, small].map(({ upstream }) => upstream.requests.length)).to.deep.equal([0, 0])
    expect(await own.gateway.usage()).to.have.length(rows)
    const { id } = await startBackground(small.gateway)
    const { status, error, usage, output } = await ended(small.gateway, id)
    expect({ status, output }).to.deep.equal({ status: 'failed', output: [] })
    expect(error!.message).to.include('too large to be stored')
    expect(usage!.total_tokens).to.equal(13)
  })

  it('are stored though the store fails for a moment', async () => {
    const answer = held(own)
    const { id } = await startBackground(own.gateway)
    const { db } = own.gateway
    await db.schema.alterTable('stored_response_items').renameTo('hidden_items').execute()
    answer()
    await until('storing fails', () => own.gateway.logText().includes('_response_items'))
    await db.schema.alterTable('hidden_items').renameTo('stored_response_items').execute()
    const running = db
      .selectFrom('stored_responses')
      .select('id')
      .where('runs_until', 'is not', null)
    await until('it is stored', async () => (await running.execute()).length === 0)
    expect(await ended(own.gateway, id)).to.include({ status: 'completed' })
  })

  it('need stored responses', async () => {
    await using off = await startOwnEndpoint({ limits: { ...limits, stored_responses_days: 0 } })
    const refused = { status: 400, code: 'unsupported_value', param: 'background' }
    const { message } = await expectError(await post({}, off), refused)
    expect(message).to.include('Leave out `background`')
    await expectError(await post({ store: false }), refused)
  })

  it('are as many at once as an account may have', async () => {
    const bounds = { backgroundCallsPerAccountMax: 2 }
    await using few = await startOwnEndpoint({ limits, bounds })
    const answer = held(few)
    const ids = [await startBackground(few.gateway), await startBackground(few.gateway)]
    const refused = { status: 429, code: 'rate_limit_exceeded', param: 'background' }
    expect((await expectError(await post({}, few), refused)).message).to.include('2 responses')
    const accountId = await few.gateway.createAccount()
    const other = await few.gateway.createKey('live', { accountId })
    await startBackground(few.gateway, {}, other)
    answer()
    for (const { id } of ids) await ended(few.gateway, id)
    const key = await few.gateway.createKey('live')
    await few.gateway.allow({ concurrency: 1 }, key)
    const next = held(few)
    const { id } = await startBackground(few.gateway, {}, key)
    const limited = { status: 429, code: 'rate_limit_exceeded', param: null }
    await expectError(await post({}, few, {}, key), limited)
    next()
    await ended(few.gateway, id, key)
    const { id: last } = await startBackground(few.gateway, {}, key)
    expect(await ended(few.gateway, last, key)).to.include({ status: 'completed' })
  })

  it('are begun once with an idempotency key', async () => {
    const answer = held(own)
    const headers = { 'idempotency-key': 'background-1' }
    const [first, second] = [await post({}, own, headers), await post({}, own, headers)]
    const { id } = (await first.json()) as Stored
    expect(await second.json()).to.deep.include({ id, status: 'in_progress' })
    expect(second.headers.get('idempotent-replayed')).to.equal('true')
    answer()
    await ended(own.gateway, id)
    expect(own.upstream.requests).to.have.length(1)
  })

  it('do not wait for an identical call, and may come whole from the cache', async () => {
    await using caching = await startOwnEndpoint()
    const answer = held(caching)
    const waiting = post({ background: false }, caching)
    const created = (await (await post({}, caching)).json()) as Stored
    expect(created).to.include({ status: 'in_progress' })
    answer()
    await waiting
    expect(await ended(caching.gateway, created.id)).to.include({ status: 'completed' })
    const again = (await (await post({}, caching)).json()) as Stored
    expect(again).to.include({ status: 'completed', background: true, store: true })
    expect(await ended(caching.gateway, again.id)).to.deep.include({ output: again.output })
    const cancelled = (await (await cancel(caching.gateway, again.id)).json()) as Stored
    expect(cancelled.status).to.equal('completed')
  })
})

describe('responses of vendors in the background', () => {
  const cases = [...chatVendors, { ...chatVendors[0]!, model: 'gpt-6.2-sol' }]
  const says: Spoken[] = [
    { text: ['{"town":', '"Rome"}'] },
    { calls: [{ id: 'call_1', name: 'weather', args: { town: 'Rome' } }], end: 'tool_calls' },
  ]
  for (const { id, model: vendorModel, double } of cases) {
    it(`are those of a call that waits, with ${vendorModel}`, async () => {
      const house = await startVendorGateway()
      const { gateway } = house
      for (const said of says) {
        house.upstreams[id].answer(double(() => said))
        const format = { type: 'json_schema' as const, name: 'place', schema: weather.parameters }
        const asked = { model: vendorModel, tools: [weather], text: { format }, sparkle: 7 }
        const { id: begun } = await startBackground(gateway, asked)
        const whole = await ended(gateway, begun)
        const waited = (await startBackground(gateway, { ...asked, background: false })) as Stored
        expect(whole.status).to.equal('completed')
        expect(whole.warnings!.map(({ param }) => param)).to.include('sparkle')
        expect(comparable(whole)).to.deep.equal(comparable({ ...waited, background: true }))
      }
      await house.stop()
    })
  }

  it('have images made', async () => {
    const house = await startImageTool()
    const sent = house.says(asksForImage(), { text: ['Here it is.'] })
    const created = (await (await house.post({ background: true })).json()) as Stored
    expect(created).to.include({ status: 'in_progress' })
    const whole = await ended(house.gateway, created.id)
    expect(whole.status).to.equal('completed')
    expect(imagesIn(whole as unknown as ImageAnswer)).to.have.length(1)
    expect(sent).to.have.length(2)
    await house.stop()
  })

  it('reserve their cost, which is settled once', async () => {
    const house = await startVendorGateway({}, { budgetWaitMaxMs: 20 })
    const { gateway, upstreams } = house
    const { double, model: vendorModel } = chatVendors[0]!
    const gate = Promise.withResolvers<void>()
    const full = double(() => ({ text: ['Hi.'] }))
    upstreams.openai.answer((request) => ({ ...full(request), after: gate.promise }))
    const asked = { model: vendorModel, max_output_tokens: 1000 }
    await setBudgetOfKey(gateway, gateway.liveKey, { nanoUsd: 12_000_000, period: 'total' })
    const { id } = await startBackground(gateway, asked)
    const window = () =>
      gateway.db.selectFrom('budget_windows').selectAll().executeTakeFirstOrThrow()
    const { reserved_nano_usd: heldNanoUsd } = await window()
    expect(heldNanoUsd).to.be.greaterThan(8_000_000)
    const second = { input: 'Two.', background: true, ...asked }
    const { liveKey: key } = gateway
    expect((await gateway.post('/v1/responses', second, { key })).status).to.equal(429)
    gate.resolve()
    const { usage } = await ended(gateway, id)
    const [row] = await gateway.usage()
    expect(row).to.include({ outcome: 'ok', face: 'responses' })
    expect(row!.cost_nano_usd).to.equal(Math.round((usage as { cost?: number }).cost! * 1e9))
    expect(await window()).to.include({ reserved_nano_usd: 0, spent_nano_usd: row!.cost_nano_usd })
    upstreams.openai.answer({ hang: true })
    const { id: cancelled } = await startBackground(gateway, asked)
    await until('the provider is asked', () => upstreams.openai.requests.length === 1)
    await cancel(gateway, cancelled)
    await until('it is recorded', async () => (await gateway.usage()).length === 2)
    const last = (await gateway.usage()).at(-1)!
    expect(last).to.include({ outcome: 'cancelled', cost_status: 'unknown' })
    const spent = row!.cost_nano_usd! + heldNanoUsd
    expect(await window()).to.include({ reserved_nano_usd: 0, spent_nano_usd: spent })
    await house.stop()
  })
})
