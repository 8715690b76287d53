import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { APIError } from 'openai'
import { expect } from 'chai'
import type { Bounds } from '../../src/settings/bounds.ts'
import { completion, streamed } from '../support/chat-answers.ts'
import { expectError } from '../support/expect-error.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { callTool, connectClient, textOf } from '../support/mcp-client.ts'
import { openAiClient } from '../support/openai-client.ts'
import { hello, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { until } from '../support/until.ts'

const overloaded = { status: 503, code: 'overloaded', type: 'overloaded_error' } as const
/** Intervals and timeouts are short, so that the tests do not wait. */
const quick = { storeBusyTimeoutMs: 20, storeCheckIntervalMs: 20, ledgerRetryMaxMs: 40 }

describe('a store that accepts no rows', () => {
  let folder: TemporaryFolder
  let own: OwnEndpoint
  /** A second connection, which locks the store as another process would. */
  let other: DatabaseSync
  const start = async (bounds: Partial<Bounds>) => {
    own = await startOwnEndpoint({
      limits: { cache_ttl_seconds: 0 },
      bounds: { ...quick, ...bounds },
      variables: { DATA_DIR: folder.path },
    })
    other = new DatabaseSync(join(folder.path, 'gateway.db'), { timeout: 5000 })
  }
  beforeEach(() => {
    folder = makeFolder()
  })
  afterEach(async () => {
    if (other.isOpen) other.close()
    await own.stop()
    folder.remove()
  })

  const hold = () => other.exec('BEGIN IMMEDIATE')
  const free = () => other.exec('ROLLBACK')
  const ready = async () => (await own.gateway.fetch('/ready', { key: null })).status
  const isReady = () => until('it is ready', async () => (await ready()) === 200)
  /** Locks the store when the vendor receives the request, and then makes the vendor answer. */
  const answerOnceHeld = (answer: object) => {
    const asked = Promise.withResolvers<void>()
    own.upstream.answer(() => {
      hold()
      asked.resolve()
      return answer
    })
    return asked.promise
  }

  it('keeps running calls in its journal, and refuses new ones before a provider is called', async () => {
    await start({})
    void answerOnceHeld(completion('hi'))
    const under = await own.chat()
    expect(under.status).to.equal(200)
    const refused = await own.chat()
    await expectError(refused, overloaded)
    expect(refused.headers.get('retry-after')).to.equal('5')
    expect(await ready()).to.equal(503)
    expect((await own.gateway.fetch('/health', { key: null })).status).to.equal(200)
    expect(own.upstream.requests).to.have.length(1)
    free()
    await isReady()
    const rows = await own.gateway.usage()
    expect(rows.map(({ id }) => id)).to.deep.equal([under.headers.get('x-request-id')])
    const lines = own.gateway.logText().split('\n')
    const logged = lines.filter((line) => line.includes('store cannot be written'))
    expect(logged, 'the reason is logged once').to.have.length(1)
    const refusals = lines.filter((line) => line.includes('"code":"overloaded"'))
    expect(refusals, 'one line for one cause').to.have.length(1)
    expect(refusals.filter((line) => line.includes('stack'))).to.deep.equal([])
  })

  it('fails an answer whose row cannot be recorded; the same call succeeds once the store is free', async () => {
    await start({ ledgerJournalBytesMax: 0 })
    void answerOnceHeld(completion('hi'))
    const failed = await own.chat()
    await expectError(failed, overloaded)
    expect(failed.headers.get('x-request-id')).to.match(/^req_/)
    free()
    await isReady()
    own.upstream.answer(() => completion('hi'))
    expect((await own.chat()).status).to.equal(200)
    expect(await own.gateway.usage()).to.have.length(1)
  })

  it('fails all requests that wait for such an answer', async () => {
    await start({ ledgerJournalBytesMax: 0 })
    const gate = Promise.withResolvers<void>()
    own.upstream.answer(() => ({ ...completion('hi'), after: gate.promise }))
    const calls = [own.chat(), own.chat(), own.chat()]
    await until('the vendor is asked', () => own.upstream.requests.length === 1)
    for (let turn = 0; turn < 3; turn++) await own.gateway.fetch('/health')
    hold()
    gate.resolve()
    for (const answer of await Promise.all(calls)) await expectError(answer, overloaded)
    expect(own.upstream.requests).to.have.length(1)
  })

  it('ends a stream whose row cannot be recorded with an error that the official client throws', async () => {
    await start({ ledgerJournalBytesMax: 0 })
    void answerOnceHeld(streamed(['one', 'two']))
    const client = openAiClient(own.gateway, own.gateway.liveKey)
    const stream = await client.chat.completions.create({
      model: 'own/house-1',
      messages: hello,
      stream: true,
    })
    const read = async () => {
      for await (const chunk of stream) expect(chunk.object).to.equal('chat.completion.chunk')
    }
    const thrown = await read().then(
      () => 'the stream ended as if it were whole',
      (error: unknown) => error,
    )
    expect(thrown).to.be.instanceOf(APIError)
    expect((thrown as APIError).message).to.contain('could not record this call')
    expect(thrown).to.include({ code: 'overloaded', type: 'overloaded_error' })
  })

  it('is reported by the tool server as a failure of the tool', async () => {
    await start({ ledgerJournalBytesMax: 0 })
    const client = await connectClient(own.gateway, own.gateway.liveKey)
    void answerOnceHeld(completion('hi'))
    const args = { model: 'own/house-1', messages: hello }
    const failed = await callTool(client, 'chat', args)
    expect(failed.isError).to.equal(true)
    expect(textOf(failed)).to.contain('could not record this call')
    const refused = await callTool(client, 'chat', args)
    expect(textOf(refused)).to.contain('cannot record calls at the moment')
    expect(own.upstream.requests).to.have.length(1)
    await client.close()
  })

  it('does not delay other requests while it waits for a lock', async () => {
    await start({ storeBusyTimeoutMs: 1000 })
    own.upstream.answer(() => completion('hi'))
    await own.chat()
    hold()
    const call = { isOver: false }
    const waiting = own.chat().finally(() => (call.isOver = true))
    let meanwhile = -1
    for (; !call.isOver; meanwhile++) await own.gateway.fetch('/health', { key: null })
    expect(meanwhile).to.be.greaterThan(3)
    expect((await waiting).status).to.equal(200)
    free()
    await isReady()
    expect(await own.gateway.usage()).to.have.length(2)
  })
})
