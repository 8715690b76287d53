import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type OpenAI from 'openai'
import sharp from 'sharp'
import { completion, streamed } from '../support/chat-answers.ts'
import { forEachStore } from '../support/each-store.ts'
import { expectError } from '../support/expect-error.ts'
import { openAiClient } from '../support/openai-client.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import {
  answerWith,
  conversations,
  reference,
  saidIn,
  type Stored,
} from '../support/stored-responses.ts'

type Create = OpenAI.Responses.ResponseCreateParamsNonStreaming

const model = 'own/house-1'
const limits = { cache_ttl_seconds: 0 }
const unknownId = `resp_${'0'.repeat(32)}`
const notFound = { status: 404, code: 'not_found' }

forEachStore('stored responses', () => {
  let own: OwnEndpoint
  let client: OpenAI
  before(async () => {
    own = await startOwnEndpoint({ limits })
    client = openAiClient(own.gateway, own.gateway.liveKey)
  })
  after(() => own.stop())
  beforeEach(() => answerWith(own))

  const ask = (body: Omit<Create, 'model'>) => client.responses.create({ model, ...body })
  const post = (body: object, key = own.gateway.liveKey, to = own) =>
    to.gateway.post('/v1/responses', { model, ...body }, { key })
  const fetched = (path: string, key = own.gateway.liveKey, method = 'GET') =>
    own.gateway.fetch(`/v1/responses/${path}`, { method, key })

  it('are returned as they were printed, until they are deleted', async () => {
    const created = await ask({ input: 'One.', metadata: { purpose: 'test' } })
    expect(created).to.include({ store: true, previous_response_id: null })
    const { output_text: text, ...printed } = created
    expect(text).to.equal('Answer 1.')
    expect(await client.responses.retrieve(created.id)).to.deep.include(printed)
    await client.responses.delete(created.id)
    await expectError(await fetched(created.id), { ...notFound, param: 'response_id' })
    await expectError(await fetched(created.id, undefined, 'DELETE'), notFound)
    const chained = await post({ input: 'Two.', previous_response_id: created.id })
    const refusal = await expectError(chained, { ...notFound, param: 'previous_response_id' })
    expect(refusal.message).to.equal(`Previous response with id '${created.id}' not found.`)
    const counts = await own.gateway.db.selectFrom('stored_response_items').selectAll().execute()
    expect(counts.filter((row) => row.response_id === created.id)).to.deep.equal([])
  })

  it('are deleted with an answer in the form of OpenAI, and not streamed again', async () => {
    const { id } = await ask({ input: 'One.' })
    const refused = { status: 400, code: 'unsupported_value', param: 'stream' }
    await expectError(await fetched(`${id}?stream=true`), refused)
    const deleted = await fetched(id, undefined, 'DELETE')
    expect(await deleted.json()).to.deep.equal({ id, object: 'response', deleted: true })
  })

  it('continue a conversation, without its instructions, also when an earlier one is deleted', async () => {
    const first = await ask({ input: 'One.', instructions: 'Be brief.' })
    const second = await ask({ input: 'Two.', previous_response_id: first.id })
    expect(second.previous_response_id).to.equal(first.id)
    await client.responses.delete(first.id)
    await ask({ input: [{ role: 'user', content: 'Three.' }], previous_response_id: second.id })
    expect(conversations(own)).to.deep.equal([
      ['developer: Be brief.', 'user: One.'],
      ['user: One.', 'assistant: Answer 1.', 'user: Two.'],
      ['user: One.', 'assistant: Answer 1.', 'user: Two.', 'assistant: Answer 2.', 'user: Three.'],
    ])
  })

  it('are stored before the last event of a stream', async () => {
    own.upstream.answer(streamed(['Hello', ' there.']))
    const stream = await client.responses.create({ model, input: 'One.', stream: true })
    let last: OpenAI.Responses.ResponseStreamEvent | undefined
    for await (const event of stream) last = event
    if (last?.type !== 'response.completed') throw new Error(`The last event is ${last?.type}.`)
    expect(last.response).to.include({ store: true })
    const { data } = await client.responses.inputItems.list(last.response.id)
    expect(data).to.have.length(1)
    await ask({ input: 'Two.', previous_response_id: last.response.id })
    expect(conversations(own).at(-1)).to.include('assistant: Hello there.')
  })

  it('continue with the result of a tool, and with the pictures of the input', async () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }
    const message = { role: 'assistant', content: null, tool_calls: [call] }
    const { body } = completion('') as { body: object }
    const choices = [{ index: 0, message, finish_reason: 'tool_calls' }]
    own.upstream.answer({ body: { ...body, choices } })
    const tools: Create['tools'] = [
      { type: 'function', name: 'look', parameters: { type: 'object' }, strict: false },
    ]
    // Large pictures are kept apart from the body while it is parsed.
    const raw = { width: 200, height: 200, channels: 3 } as const
    const picture = await sharp(randomBytes(200 * 200 * 3), { raw })
      .png()
      .toBuffer()
    const image_url = `data:image/png;base64,${picture.toString('base64')}`
    const content = [{ type: 'input_image' as const, image_url, detail: 'auto' as const }]
    const first = await ask({ input: [{ role: 'user', content }], tools })
    answerWith(own)
    await ask({
      previous_response_id: first.id,
      tools,
      input: [{ type: 'function_call_output', call_id: 'call_1', output: 'A fox.' }],
    })
    const { messages } = own.upstream.requests[0]!.body as { messages: object[] }
    expect(messages[0]).to.have.deep.nested.property('content[0].image_url.url', image_url)
    expect(messages[1]).to.have.deep.property('tool_calls', [call])
    expect(messages[2]).to.deep.equal({ role: 'tool', tool_call_id: 'call_1', content: 'A fox.' })
    const { data } = await client.responses.inputItems.list(first.id)
    expect(data[0]).to.have.deep.nested.property('content[0].image_url', image_url)
  })

  it('stand for their items, as long as a response has a copy', async () => {
    const first = await ask({ input: 'One.' })
    const { data } = await client.responses.inputItems.list(first.id)
    const references = [data[0]!, first.output[0]!].map(({ id }) => reference(id!))
    const next = (text: string) => post({ input: [...references, { role: 'user', content: text }] })
    const second = (await (await next('Two.')).json()) as Stored
    await client.responses.delete(second.id)
    const third = (await (await next('Three.')).json()) as Stored
    await client.responses.delete(first.id)
    const fourth = (await (await next('Four.')).json()) as Stored
    expect(conversations(own).slice(1)).to.deep.equal(
      ['Two.', 'Three.', 'Four.'].map((text) => [
        'user: One.',
        'assistant: Answer 1.',
        `user: ${text}`,
      ]),
    )
    for (const { id } of [third, fourth]) await client.responses.delete(id)
    const refusal = await expectError(await next('Five.'), { ...notFound, param: 'input[0].id' })
    expect(refusal.message).to.include('Send `store: false`, or the whole item.')
  })

  it('name the place of an unknown item, after the items of a previous response', async () => {
    const { id: previous_response_id } = await ask({ input: 'One.' })
    const input = [{ role: 'user', content: 'Two.' }, reference(`msg_${'0'.repeat(32)}`)]
    await expectError(await post({ input, previous_response_id }), {
      ...notFound,
      param: 'input[1].id',
    })
    const lone = [{ type: 'function_call_output', call_id: 'call_1', output: '1' }]
    const refusal = { status: 400, code: 'invalid_value' }
    const refused = await expectError(await post({ input: lone, previous_response_id }), refusal)
    expect(refused.param).to.match(/^input\[0\]/)
  })

  it('list their input in pages', async () => {
    const first = await ask({ input: 'One.' })
    const { id } = await ask({ input: 'Two.', previous_response_id: first.id })
    const texts = async (query: object) => {
      const page = await client.responses.inputItems.list(id, query)
      return [page.data.map(textOf), page.has_more] as const
    }
    expect(await texts({})).to.deep.equal([['Two.', 'Answer 1.', 'One.'], false])
    expect(await texts({ order: 'asc', limit: 2 })).to.deep.equal([['One.', 'Answer 1.'], true])
    const after = first.output[0]!.id
    expect(await texts({ order: 'asc', after })).to.deep.equal([['Two.'], false])
    const unknown = await fetched(`${id}/input_items?after=msg_x`)
    await expectError(unknown, { status: 400, code: 'invalid_value', param: 'after' })
  })

  it('are not kept with `store: false`', async () => {
    const { id, store, output } = (await ask({ input: 'One.', store: false })) as Stored
    expect(store).to.equal(false)
    await expectError(await fetched(id), notFound)
    await expectError(await post({ input: 'Two.', previous_response_id: id }), notFound)
    await expectError(await post({ input: [reference(output[0]!.id!)] }), notFound)
  })

  it('are found only by keys of their account and mode', async () => {
    const { gateway } = own
    const { id, output } = await ask({ input: 'One.' })
    const accountId = await gateway.createAccount()
    const keys = [
      await gateway.createKey('live', { accountId }),
      await gateway.createKey('live', { models: [model, 'gpt-5'] }),
      gateway.testKey,
    ]
    const paths = [id, `${id}/input_items`, unknownId, `resp_%00`, 'x'.repeat(500)]
    for (const key of keys) {
      for (const path of paths) await expectError(await fetched(path, key), notFound)
      await expectError(await fetched(id, key, 'DELETE'), notFound)
      const asked = { model: key === gateway.testKey ? 'gpt-5-mini' : model, input: 'Two.' }
      const chained = await post({ ...asked, previous_response_id: id }, key)
      await expectError(chained, { ...notFound, param: 'previous_response_id' })
      const input = [reference(output[0]!.id!)]
      await expectError(await post({ ...asked, input }, key), { ...notFound, param: 'input[0].id' })
    }
    const sameAccount = await gateway.createKey('live')
    expect((await fetched(id, sameAccount)).status).to.equal(200)
  })
})

function textOf(item: { type?: string; content?: unknown }): string {
  expect(item).to.have.property('type', 'message')
  return saidIn(item.content as object[])
}
