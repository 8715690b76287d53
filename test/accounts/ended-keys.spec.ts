import { expect } from 'chai'
import { keyRemedy } from '../../src/core/words/remedies.ts'
import { textChunk } from '../support/chat-answers.ts'
import { readEvents } from '../support/event-stream.ts'
import { expectError } from '../support/expect-error.ts'
import { postMessages, toolCall } from '../support/mcp-client.ts'
import { openMessageStream } from '../support/message-stream.ts'
import { hello, startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { until } from '../support/until.ts'
import { forEachStore } from '../support/each-store.ts'

const revoked = `This API key was revoked. ${keyRemedy}`

forEachStore('an exchange whose key ends', () => {
  let own: OwnEndpoint
  let now: number
  beforeEach(async () => {
    now = Date.parse('2026-11-22T12:00:00Z')
    own = await startOwnEndpoint({ bounds: { keyRecheckMs: 100 }, clock: () => now })
  })
  afterEach(() => own.stop())
  const askedTimes = (count: number) =>
    until('the upstream is asked', () => own.upstream.requests.length === count)
  const listen = (key: string) =>
    openMessageStream((signal) =>
      own.gateway.fetch('/mcp', { headers: { accept: 'text/event-stream' }, signal, key }),
    )

  it('is closed when it is an event stream of /mcp; streams of other keys stay open', async () => {
    const doomed = await own.gateway.createKey('live', { expiresAt: now + 60_000 })
    const [ending, staying] = [await listen(doomed), await listen(own.gateway.liveKey)]
    now += 60_000
    await ending.ended
    own.gateway.announceToolsChanged()
    await staying.untilMessages(1)
    const again = await own.gateway.fetch('/mcp', { key: doomed })
    expect(again.status).to.equal(401)
    staying.leave()
  })

  it('ends with the reason when it is a streamed chat, and is recorded as cancelled', async () => {
    own.upstream.answer({ pieces: [textChunk('one')], hang: true })
    const response = await own.chat({ stream: true })
    await own.gateway.revokeKeys()
    const text = await response.text()
    expect(text).to.contain('event: error\n')
    expect(JSON.parse(readEvents(text).at(-1)!.data!)).to.deep.equal({
      error: {
        message: revoked,
        type: 'authentication_error',
        param: null,
        code: 'invalid_api_key',
        request_id: response.headers.get('x-request-id'),
      },
      late_headers: { 'www-authenticate': 'Bearer' },
    })
    await own.upstream.requests[0]!.closed
    expect(own.upstream.requests[0]!.aborted).to.equal(true)
    const [row] = await own.gateway.usage()
    expect(row).to.include({ outcome: 'cancelled', error_code: 'invalid_api_key' })
  })

  it('is refused when it is a long chat, and its upstream call is aborted', async () => {
    own.upstream.answer({ hang: true })
    const asked = own.chat()
    await askedTimes(1)
    await own.gateway.revokeKeys()
    const error = await expectError(await asked, { status: 401, code: 'invalid_api_key' })
    expect(error.message).to.equal(revoked)
    await own.upstream.requests[0]!.closed
    expect(own.upstream.requests[0]!.aborted).to.equal(true)
  })

  it('is refused when it is a tool call', async () => {
    own.upstream.answer({ hang: true })
    const key = own.gateway.liveKey
    const call = toolCall('chat', { model: 'own/house-1', messages: hello })
    const asked = postMessages(own.gateway, call, { key })
    await askedTimes(1)
    await own.gateway.revokeKeys()
    const { response, answer } = await asked
    expect(response.status).to.equal(401)
    expect(answer.error).to.include({ code: -32001, message: revoked })
  })

  it('does not end identical chats of other keys', async () => {
    const other = await own.gateway.createKey('live')
    const doomed = await own.gateway.createKey('live', { expiresAt: now + 60_000 })
    own.upstream.answer((_request, index) =>
      index === 0 ? { hang: true } : { body: { choices: [] }, status: 400 },
    )
    const first = own.chat({}, { key: doomed })
    await askedTimes(1)
    const second = own.chat({}, { key: other })
    now += 60_000
    await expectError(await first, { status: 401, code: 'expired_api_key' })
    // The second call is not refused because of the first key: the gateway calls the provider again.
    expect((await second).status).to.equal(400)
    await askedTimes(2)
  })
})
