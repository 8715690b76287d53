import { expect } from 'chai'
import type OpenAI from 'openai'
import { completion } from '../support/chat-answers.ts'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { openAiClient } from '../support/openai-client.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { answerWith, type Stored } from '../support/stored-responses.ts'
import { until } from '../support/until.ts'

type Create = OpenAI.Responses.ResponseCreateParamsNonStreaming

const model = 'own/house-1'
const limits = { cache_ttl_seconds: 0 }
const running = { status: 'in_progress', background: true, error: null, usage: null }

forEachStore('responses in the background', () => {
  let own: OwnEndpoint
  let client: OpenAI
  before(async () => {
    own = await startOwnEndpoint({ limits })
    client = openAiClient(own.gateway, own.gateway.liveKey)
  })
  after(() => own.stop())

  const start = (body: Partial<Create> = {}, options = {}) =>
    client.responses.create({ model, input: 'One.', background: true, ...body }, options)
  const post = (body: object, { gateway } = own) =>
    gateway.post('/v1/responses', { model, input: 'One.', ...body }, { key: gateway.liveKey })
  const cancel = (id: string, { gateway } = own, key = gateway.liveKey) =>
    gateway.fetch(`/v1/responses/${id}/cancel`, { method: 'POST', key })
  /** The provider answers when the returned function is called. */
  const held = (answer = completion('Hello.')) => {
    const gate = Promise.withResolvers<void>()
    own.upstream.answer({ ...answer, after: gate.promise })
    return () => gate.resolve()
  }
  const ended = async (id: string, by = client) => {
    let response = await by.responses.retrieve(id)
    await until('the response has ended', async () => {
      response = await by.responses.retrieve(id)
      return response.status !== 'in_progress'
    })
    return response as Stored
  }
  const rows = async (count: number) => {
    await until('the call is recorded', async () => (await own.gateway.usage()).length === count)
    return own.gateway.usage()
  }

  it('are answered at once, and equal the response of a call that waits', async () => {
    const answer = held()
    const created = await start({ instructions: 'Be brief.', metadata: { purpose: 'test' } })
    expect(created).to.include({ ...running, model: 'own/house-1' })
    expect(created.output).to.deep.equal([])
    expect(await client.responses.retrieve(created.id)).to.deep.include(running)
    const { data } = await client.responses.inputItems.list(created.id)
    expect(data).to.have.length(1)
    answer()
    const whole = await ended(created.id)
    expect(whole).to.include({ status: 'completed', background: true, store: true })
    const { data: later } = await client.responses.inputItems.list(created.id)
    expect(later).to.deep.equal(data)
    own.upstream.answer(completion('Hello.'))
    const asked = { instructions: 'Be brief.', metadata: { purpose: 'test' } }
    const waited = (await start({ ...asked, background: false })) as Stored
    expect(comparable(whole)).to.deep.equal(comparable({ ...waited, background: true }))
    expect((await client.responses.create({ model, input: 'Two.', previous_response_id: whole.id })).id)
  })
})

/** A response without what differs between two calls. */
function comparable(response: Stored): object {
  const { output_text: _text, ...printed } = response
  return JSON.parse(
    JSON.stringify({ ...printed, created_at: 0, completed_at: 0 }).replaceAll(/_[0-9a-f]{32}/g, '_'),
  ) as object
}
