import { isDeepStrictEqual } from 'node:util'
import { expect } from 'chai'
import { inContext } from '../contract/tool-context.ts'
import { completion } from '../support/chat-answers.ts'
import { bodySchema, operation, resolve } from '../support/contract.ts'
import { paint } from '../support/image-doubles/paint.ts'
import { startOwnEndpoint, type OwnEndpoint } from '../support/own-endpoint.ts'
import { pixel } from '../support/pixel.ts'
import { probesOf } from '../support/probes.ts'
import { until } from '../support/until.ts'

type Body = Record<string, unknown>
type Headers = Record<string, string>

const words = {
  model: 'own/other',
  models: 'own/other',
  image_url: pixel,
  url: pixel,
  tool_call_id: 'call_1',
  name: 'paint',
}
const images = [{ image_url: pixel }]
const subjects = {
  createChatCompletion: { model: 'own/house-1', messages: [{ role: 'user', content: 'A fox' }] },
  createImage: { model: 'own/painter', prompt: 'a fox' },
  createImageEdit: { model: 'own/painter', prompt: 'a fox', images },
}
type Subject = keyof typeof subjects

/** Whether a call with this header may share an answer with a call without it, for every header. */
const headers: Record<string, { value: string; isShared: boolean }[]> = {
  'idempotency-key': [{ value: 'a-key', isShared: true }],
  'cache-control': [
    { value: 'no-cache', isShared: false },
    { value: 'no-store', isShared: false },
    { value: 'max-age=60', isShared: true },
  ],
  'x-gateway-cache-ttl': [
    { value: '5', isShared: true },
    { value: '0', isShared: false },
  ],
  'x-gateway-strict': [
    { value: 'true', isShared: false },
    { value: 'false', isShared: true },
  ],
  'x-gateway-no-fallback': [
    { value: 'true', isShared: false },
    { value: 'false', isShared: true },
  ],
  prefer: [
    { value: 'wait=5', isShared: true },
    { value: 'handling=lenient', isShared: true },
  ],
  'x-gateway-tags': [
    { value: 'nightly', isShared: true },
    { value: 'team=search', isShared: true },
  ],
  'x-gateway-allow-repeat': [
    { value: 'true', isShared: true },
    { value: 'false', isShared: true },
  ],
}

describe('a call during another call', () => {
  let own: OwnEndpoint
  let picture: string
  before(async () => {
    own = await startOwnEndpoint({
      limits: { cache_ttl_seconds: 0, requests_per_minute: 1_000_000 },
    })
    const bytes = await paint({ width: 64, height: 64, format: 'png', number: 1 })
    picture = bytes.toString('base64')
  })
  after(() => own.stop())

  let turn = 0
  const answerAfter = (gate: Promise<void>) =>
    own.upstream.answer(({ path }) =>
      path.endsWith('/chat/completions')
        ? { ...completion('A fox.'), after: gate }
        : { body: { created: 1, data: [{ b64_json: picture }] }, after: gate },
    )
  const send = (id: Subject, body: Body, more: Headers = {}, key = own.gateway.liveKey) =>
    own.gateway.post(operation(id).path, body, { key, headers: more })
  /** The request that the vendor receives for this call; undefined when the gateway refuses the call. */
  const askedFor = async (id: Subject, body: Body): Promise<unknown> => {
    answerAfter(Promise.resolve())
    const before = own.upstream.requests.length
    await (await send(id, body, { 'cache-control': 'no-store' })).text()
    const { body: vendorBody, headers: sent } = own.upstream.requests[before] ?? {}
    // Replaces the boundary of a form, which is random.
    const boundary = /boundary=(\S+)/.exec(sent?.['content-type'] ?? '')?.[1]
    return boundary === undefined ? vendorBody : String(vendorBody).replaceAll(boundary, '')
  }
  /** Sends the second call while the first is running; returns the number of vendor requests. */
  const countVendorRequests = async (
    first: () => Promise<Response>,
    second: () => Promise<Response>,
    isShared: boolean,
  ) => {
    const gate = Promise.withResolvers<void>()
    answerAfter(gate.promise)
    const before = own.upstream.requests.length
    const times = () => own.upstream.requests.length - before
    const one = first()
    await until('the first is under way', () => times() === 1)
    const two = second()
    if (!isShared) await until('the second is asked for too', () => times() > 1)
    // When these requests are answered, the second call has also read the store.
    else for (let count = 0; count < 25; count++) await own.gateway.fetch('/health')
    gate.resolve()
    for (const response of await Promise.all([one, two])) await response.text()
    return times()
  }
  /** A body with a prompt that no earlier request contained. */
  const newBody = (id: Subject): Body => {
    turn++
    return id === 'createChatCompletion'
      ? { ...subjects[id], messages: [{ role: 'user', content: `fox ${turn}` }] }
      : { ...subjects[id], prompt: `fox ${turn}` }
  }

  for (const id of Object.keys(subjects) as Subject[]) {
    const { parameters = [] } = operation(id)
    const { properties = {} } = bodySchema(operation(id))!
    for (const { name } of parameters.map((one) => resolve(one))) {
      it(`of ${id} shares the answer depending on the header ${name}`, async () => {
        for (const { value, isShared } of headers[name]!) {
          const body = newBody(id)
          const plain = () => send(id, body)
          const other = () => send(id, body, { [name]: value })
          const times = await countVendorRequests(plain, other, isShared)
          expect(times, value).to.equal(isShared ? 1 : 2)
        }
      })
    }

    it(`of ${id} shares the answer only when both send the vendor the same request`, async () => {
      const base: Body = subjects[id]
      const asked = await askedFor(id, base)
      let compared = 0
      for (const [name, schema] of Object.entries(properties)) {
        // Previews do not change the image, so such a call gets the answer of a plain one.
        if (name === 'partial_images') continue
        for (const probe of probesOf(schema, words, name).filter(({ allowed }) => allowed)) {
          const changed: Body = { ...base, [name]: probe.value }
          const body = inContext(id, changed) as Body
          const other = await askedFor(id, body)
          if (other === undefined || isDeepStrictEqual(other, asked)) continue
          const times = await countVendorRequests(
            () => send(id, base),
            () => send(id, body),
            false,
          )
          expect(times, JSON.stringify({ [name]: probe.value }).slice(0, 200)).to.be.greaterThan(1)
          compared++
          break
        }
      }
      expect(compared).to.be.greaterThan(id === 'createChatCompletion' ? 20 : 5)
    })
  }

  it('is refused when its key may not use the model, also during an allowed call', async () => {
    const narrow = await own.gateway.createKey('live', { models: ['own/other'] })
    const body = newBody('createChatCompletion')
    const gate = Promise.withResolvers<void>()
    answerAfter(gate.promise)
    const before = own.upstream.requests.length
    const first = send('createChatCompletion', body)
    await until('the first is under way', () => own.upstream.requests.length === before + 1)
    const refused = await send('createChatCompletion', body, {}, narrow)
    gate.resolve()
    expect(refused.status).to.equal(403)
    expect((await first).status).to.equal(200)
  })

  it('has its own warnings, not those of the other call', async () => {
    const chat = { model: 'zai/cogview-4', messages: [{ role: 'user', content: 'a fox' }] }
    const warned = async (path: string, body: object) => {
      const headers = { 'x-gateway-cache-ttl': '60' }
      const answer = (await (await own.gateway.post(path, body, { headers })).json()) as {
        warnings?: { param: string }[]
      }
      return (answer.warnings ?? []).map(({ param }) => param)
    }
    const path = '/v1/chat/completions'
    expect(await warned(path, chat)).to.deep.equal([])
    expect(await warned(path, { ...chat, temperature: 0.5 })).to.deep.equal(['temperature'])
    expect(await warned(path, { ...chat, top_p: 0.5 })).to.deep.equal(['top_p'])
    expect(await warned(path, chat)).to.deep.equal([])
    // Two requests for the same picture, whose size has two parameter names.
    const size = { image_size: '1000x1000' }
    const asked = { model: 'zai/cogview-4', prompt: 'a fox', size: size.image_size }
    expect(await warned('/v1/images/generations', asked)).to.deep.equal(['size'])
    expect(await warned(path, { ...chat, image_config: size })).to.deep.equal([
      'image_config.image_size',
    ])
  })
})
