import { expect } from 'chai'
import OpenAI, { toFile } from 'openai'
import { streamed } from '../support/chat-answers.ts'
import { openCutConnection, type CutConnection } from '../support/cut-connection.ts'
import { hello, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { pixel } from '../support/pixel.ts'
import type { ScriptedAnswer } from '../support/upstream.ts'

const noCache = { 'cache-control': 'no-store' }
const chat = { model: 'own/house-1', messages: hello }
const picture = { model: 'own/painter', prompt: 'a fox' }
const painted = { body: { created: 1, data: [{ b64_json: pixel.split(',')[1] }] } }

let count = 0
/** A key unique to the test. */
const newKey = () => `client-${++count}`

describe("a request of OpenAI's client with an idempotency key", () => {
  let own: OwnEndpoint
  let line: CutConnection
  before(async () => {
    own = await startOwnEndpoint({ limits: { cache_ttl_seconds: 0 } })
    line = await openCutConnection(own.gateway.url)
  })
  after(async () => {
    await line.stop()
    await own.stop()
  })
  const countRows = async () => (await own.gateway.usage()).length
  const rowsSince = async (before: number) => (await countRows()) - before
  const client = () =>
    new OpenAI({
      baseURL: `${line.url}/v1`,
      apiKey: own.gateway.liveKey,
      defaultHeaders: noCache,
    })

  it('whose connection closes is charged once, and its retries get the answer', async () => {
    const go = Promise.withResolvers<void>()
    own.upstream.answer(() => {
      line.cut()
      // At the client's first retry the first request is still in progress.
      setTimeout(go.resolve, 1000)
      return { ...painted, after: go.promise }
    })
    const before = await countRows()
    const headers = { 'idempotency-key': newKey() }
    const { data } = await client().images.generate(picture, { headers })
    expect(data).to.have.length(1)
    expect(own.upstream.requests).to.have.length(1)
    expect(own.upstream.requests[0]!.aborted).to.equal(false)
    expect(await rowsSince(before)).to.equal(1)
    const [row] = (await own.gateway.usage()).slice(-1)
    expect(row).to.include({ outcome: 'ok', images: 1 })
  })

  it('whose stream is interrupted gets the whole stream of the first request', async () => {
    const key = newKey()
    const headers = { 'idempotency-key': key }
    const go = Promise.withResolvers<void>()
    const { pieces = [] } = streamed(['One ', 'two ', 'three.'])
    own.upstream.answer({ pieces: resting(pieces, go.promise) })
    const before = await countRows()
    const body = { ...chat, stream: true as const }
    const stream = await client().chat.completions.create(body, { headers })
    let broken = false
    try {
      for await (const { choices } of stream) if (choices.length > 0) line.cut()
    } catch {
      broken = true
    }
    expect(broken).to.equal(true)
    go.resolve()
    const again = await client().chat.completions.create(body, { headers })
    let said = ''
    for await (const { choices } of again) said += choices[0]?.delta.content ?? ''
    expect(said).to.equal('One two three.')
    expect(own.upstream.requests).to.have.length(1)
    expect(await rowsSince(before)).to.equal(1)
  })

  it('with files is the same request with any form boundary', async () => {
    const bytes = Buffer.from(pixel.split(',')[1]!, 'base64')
    const headers = { 'idempotency-key': newKey() }
    own.upstream.answer(painted)
    const edit = async (file = bytes) =>
      client()
        .images.edit({ ...picture, image: await toFile(file, 'a.png') }, { headers, maxRetries: 0 })
        .withResponse()
    const first = await edit()
    const again = await edit()
    expect(again.response.headers.get('idempotent-replayed')).to.equal('true')
    expect(again.data).to.deep.equal(first.data)
    expect(own.upstream.requests).to.have.length(1)
    const other = await edit(Buffer.concat([bytes, Buffer.from('x')])).catch(({ code }) => code)
    expect(other).to.equal('idempotency_key_reused')
  })
})

async function* resting(pieces: NonNullable<ScriptedAnswer['pieces']>, until: Promise<void>) {
  let isFirst = true
  for await (const piece of pieces) {
    if (!isFirst) await until
    isFirst = false
    yield piece
  }
}
