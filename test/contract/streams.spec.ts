import { expect } from 'chai'
import type { Document } from '../../scripts/generate/document.ts'
import { openAnswers } from '../../scripts/generate/open-answers.ts'
import { contract, examplesIn, type MediaType, type Schema } from '../support/contract.ts'
import { hello } from '../support/own-endpoint.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { startJob } from '../support/image-jobs.ts'
import { itemChecks, streamItems, type ItemMediaType } from '../support/stream-items.ts'

type Streams = {
  openapi: string
  paths: Record<string, Record<string, { responses: Record<string, Answered> }>>
  components: { schemas: Record<string, Schema> }
}
type Answered = { content?: Record<string, ItemMediaType> }

const eventStream = 'text/event-stream'
const [chat, messages, responses] = ['/v1/chat/completions', '/v1/messages', '/v1/responses']
const [created, edits] = ['/v1/images/generations', '/v1/images/edits']
const model = 'gpt-5-mini'
const picture = { model: 'gpt-image-2.6-sunburst', size: '1024x1024', stream: true }
const talk = (content: string) => [{ role: 'user', content }]

describe('GET /openapi-3.2.json', function () {
  let gateway: TestGateway
  let served: Streams
  let check: ReturnType<typeof itemChecks>
  before(async () => {
    gateway = await startGateway({ bounds: { streamAfterMs: 20 } })
    served = (await (await gateway.fetch('/openapi-3.2.json', { key: null })).json()) as Streams
    check = itemChecks(served)
  })
  after(() => gateway.stop())

  const streams = () =>
    Object.entries(served.paths).flatMap(([path, item]) =>
      Object.entries(item).flatMap(([method, { responses: answers }]) =>
        Object.values(answers).flatMap(({ content }) => {
          const media = content?.[eventStream]
          return media === undefined ? [] : [{ where: `${method} ${path}`, media }]
        }),
      ),
    )
  const schemaOf = (where: string) =>
    streams().find((one) => one.where === where)!.media.itemSchema!
  /** Expects that each event complies with the schema of the stream; returns the names and ends. */
  const expectItems = (where: string, text: string) => {
    const items = streamItems(text)
    expect(items, text).to.not.be.empty
    for (const item of items) expect(check(schemaOf(where), item)).to.deep.equal([])
    return items
  }
  const open = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const response = await gateway.post(path, body, { headers })
    const text = await response.text()
    expect(response.headers.get('content-type'), text).to.match(/^text\/event-stream/)
    return expectItems(`post ${path}`, text)
  }

  it('describes the events of each stream, and no stream as a string', () => {
    expect(served.openapi).to.equal('3.2.0')
    expect(streams().map(({ where }) => where)).to.have.members([
      ...[created, edits, chat, messages, responses, '/mcp'].map((path) => `post ${path}`),
      'get /v1/images/jobs/{job_id}/events',
      'get /mcp',
    ])
    for (const { where, media } of streams()) {
      expect(media.schema, where).to.equal(undefined)
      expect(media.itemSchema, where).to.have.property('$ref')
    }
  })

  it('has examples that comply with the schemas of their events', () => {
    for (const { where, media } of streams())
      expectItems(where, String(examplesIn(media as MediaType)[0]))
  })

  it('names the events that the contract has', () => {
    const { ImageEvent, MessageStreamEvent, ImageStreamItem, MessageStreamItem } =
      served.components.schemas
    const types = (schema: object | undefined) =>
      Object.keys((schema as { discriminator: { mapping: object } }).discriminator.mapping)
    expect(ImageStreamItem!.properties!['event']!.enum).to.deep.equal(types(ImageEvent))
    const [event, failed] = MessageStreamItem!.oneOf!.map((one) => one.properties!['event']!.enum)
    expect(event).to.deep.equal(types(MessageStreamEvent))
    expect(failed).to.deep.equal(['error'])
  })

  it('describes streamed chats, with their ends', async () => {
    const body = { model, stream: true, stream_options: { include_usage: true } }
    const items = await open(chat, { ...body, messages: hello })
    expect(items.at(-1)).to.deep.equal({ event: 'message', data: '[DONE]' })
    const cut = await open(chat, { ...body, messages: talk('sandbox:cut-stream') })
    expect(cut.at(-1)!.event).to.equal('error')
    const drawn = { model: picture.model, messages: talk('A fox'), stream: true }
    await open(chat, drawn)
  })

  it('describes streamed messages, with their ends', async () => {
    const body = { model, max_tokens: 100, stream: true }
    const items = await open(messages, { ...body, messages: hello })
    expect(items.at(-1)!.event).to.equal('message_stop')
    const cut = await open(messages, { ...body, messages: talk('sandbox:cut-stream') })
    expect(cut.at(-1)!.event).to.equal('error')
  })

  it('describes streamed responses, with their ends', async () => {
    const items = await open(responses, { model, input: 'Hello.', stream: true })
    expect(items.at(-1)!.event).to.equal('response.completed')
    const cut = await open(responses, { model, input: 'sandbox:cut-stream', stream: true })
    expect(cut.map(({ event }) => event).slice(-2)).to.deep.equal(['error', 'response.failed'])
  })

  it('describes streamed images, with their ends', async () => {
    const prompt = 'A lighthouse in a storm'
    const items = await open(created, { ...picture, prompt, partial_images: 1 })
    expect(items.at(-1)!.event).to.equal('image_generation.completed')
    const failed = await open(created, {
      ...picture,
      prompt: 'sandbox:delay=500 sandbox:status=400',
    })
    expect(failed.at(-1)!.event).to.equal('error')
    const image = `data:image/png;base64,${(JSON.parse(items.at(-1)!.data) as { b64_json: string }).b64_json}`
    const edited = await open(edits, { ...picture, prompt, images: [{ image_url: image }] })
    expect(edited.at(-1)!.event).to.equal('image_edit.completed')
  })

  it('describes the events of a job', async () => {
    const { id } = await startJob(gateway, { prompt: 'A fox' }, { key: gateway.testKey })
    const response = await gateway.fetch(`/v1/images/jobs/${id}/events`)
    const text = await response.text()
    expect(text).to.match(/^id: /m)
    expectItems('get /v1/images/jobs/{job_id}/events', text)
  })

  it('describes the events of a tool call', async () => {
    const accept = `application/json, ${eventStream}`
    const params = { name: 'chat', arguments: { model, messages: hello } }
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call' }
    const progress = { ...params, _meta: { progressToken: 'a' } }
    const items = await open('/mcp', { ...body, params: progress }, { accept })
    expect(items.length).to.be.greaterThan(1)
  })

  it('refuses what a stream does not have', () => {
    const wrong: [where: string, item: { event: string; data: string }][] = [
      [`post ${chat}`, { event: 'message', data: 'done' }],
      [`post ${chat}`, { event: 'message', data: '{"id":"a"}' }],
      [`post ${chat}`, { event: 'error', data: '[DONE]' }],
      [`post ${chat}`, { event: 'finished', data: '[DONE]' }],
      [`post ${messages}`, { event: 'message_end', data: '{"type":"message_stop"}' }],
      [`post ${messages}`, { event: 'error', data: '{"type":"ping"}' }],
      [`post ${responses}`, { event: 'response.created', data: '{"type":"response.created"}' }],
      [`post ${created}`, { event: 'image_generation.completed', data: '{}' }],
      ['get /mcp', { event: 'message', data: '{"jsonrpc":"1.0"}' }],
    ]
    for (const [where, item] of wrong)
      expect(check(schemaOf(where), item), JSON.stringify(item)).to.not.be.empty
  })

  it('is the contract in all else', () => {
    const { ChatCompletionChunk: chunk } = openAnswers(contract as unknown as Document).components
      .schemas
    expect(served.components.schemas['ChatCompletionChunk']).to.deep.equal(chunk)
  })
})
