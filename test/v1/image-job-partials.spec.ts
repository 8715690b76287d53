import { request, type IncomingMessage } from 'node:http'
import { expect } from 'chai'
import { Stream } from 'openai/core/streaming'
import { bufferedBytes, nothingBuffered } from '../support/buffered.ts'
import { expectError } from '../support/expect-error.ts'
import { gatedPieces, imageEventsIn, namesOf, type ImageEvent } from '../support/image-events.ts'
import { endedJob, getJob, jobsPath, rowOf, startJob, type Job } from '../support/image-jobs.ts'
import type { ImageDouble } from '../support/image-doubles/double.ts'
import { eventText } from '../support/image-doubles/openai.ts'
import { paint } from '../support/image-doubles/paint.ts'
import { startImageVendors, type ImageVendors } from '../support/image-vendors.ts'
import { noisePng } from '../support/pictures.ts'
import { pixel } from '../support/pixel.ts'
import { eventually, until } from '../support/until.ts'

const model = 'gpt-image-1.5'
const asked = { model, prompt: 'a fox', partial_images: 2 }
const usage = { input_tokens: 20, output_tokens: 1200, total_tokens: 1220 }
const generations = '/v1/images/generations'
const bounds = { backgroundRecheckMs: 20, processLeaseMs: 20 }

describe('partial images of a job', () => {
  let vendors: ImageVendors
  let gateway: ImageVendors['gateway']
  let openai: ImageDouble
  let base64: string
  before(async () => {
    vendors = await startImageVendors({ vendors: ['openai', 'alibaba'], bounds })
    ;({ gateway } = vendors)
    openai = vendors.doubles.openai
    base64 = (await paint({ width: 64, height: 64, format: 'png', number: 3 })).toString('base64')
  })
  beforeEach(() => vendors.reset())
  after(() => vendors.stop())

  const partial = (index: number, data = base64) =>
    eventText('image_generation.partial_image', { b64_json: data, partial_image_index: index })
  const completed = () => eventText('image_generation.completed', { b64_json: base64, usage })
  /** A vendor's stream of a picture, whose next piece is sent by each call of `go`. */
  const stepwise = (pieces: readonly string[]) => {
    const { go, pieces: gated } = gatedPieces(pieces)
    openai.play({ pieces: gated })
    return go
  }
  const watch = (id: string, headers = {}, key = gateway.liveKey) =>
    gateway.fetch(`${jobsPath}/${id}/events`, { key, headers })
  /** Reads the events of a job as they come. */
  const watching = async (id: string, headers = {}) => {
    const response = await watch(id, headers)
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    const read = async () => {
      const { done, value = '' } = await reader.read()
      text += value
      return !done
    }
    return {
      /** The names of the first `count` events. */
      names: async (count: number) => {
        while (imageEventsIn(whole(text)).length < count && (await read()));
        return namesOf(imageEventsIn(whole(text)))
      },
      ids: () => [...text.matchAll(/^id: (.*)$/gm)].map(([, id]) => id!.split('.')[1]!),
      end: async () => {
        while (await read());
        return imageEventsIn(text)
      },
      leave: () => reader.cancel(),
    }
  }

  it('are sent live, to each watcher from the latest on, then the picture', async () => {
    const go = stepwise([partial(0), partial(1), completed()])
    const { id } = await startJob(gateway, asked)
    const early = await watching(id)
    go()
    expect(await early.names(1)).to.deep.equal(['partial 0/0'])
    go()
    expect(await early.names(2)).to.deep.equal(['partial 0/0', 'partial 0/1'])
    const late = await watching(id)
    expect(await late.names(1)).to.deep.equal(['partial 0/1'])
    const again = await watching(id, { 'last-event-id': `${id}.p0` })
    expect(await again.names(1)).to.deep.equal(['partial 0/1'])
    const latest = await watching(id, { 'last-event-id': `${id}.p1` })
    go()
    const events = await early.end()
    expect(namesOf(events)).to.deep.equal(['partial 0/0', 'partial 0/1', 'completed 0'])
    expect(early.ids()).to.deep.equal(['p0', 'p1', 'c0'])
    const same = { b64_json: base64, size: '64x64', output_format: 'png' }
    for (const event of events) expect(event).to.include(same)
    expect(events.at(-1)!.usage).to.include({ output_tokens: 1200 })
    for (const one of [late, again])
      expect(namesOf(await one.end())).to.deep.equal(['partial 0/1', 'completed 0'])
    expect(namesOf(await latest.end())).to.deep.equal(['completed 0'])
    expect((await getJob(gateway, id)).settings).to.include({ partial_images: 2 })
  })

  it('are not repeated after the end, and ids of other jobs are refused', async () => {
    const { id } = await startJob(gateway, { ...asked, n: 2 })
    await endedJob(gateway, id)
    for (const headers of [{}, { 'last-event-id': `${id}.p1` }]) {
      const text = await (await watch(id, headers)).text()
      expect(namesOf(imageEventsIn(text))).to.deep.equal(['completed 0', 'completed 1'])
    }
    const rest = await (await watch(id, { 'last-event-id': `${id}.c0` })).text()
    expect(namesOf(imageEventsIn(rest))).to.deep.equal(['completed 1'])
    const other = await startJob(gateway, asked)
    for (const eventId of [`${other.id}.p0`, `${id}.q0`, `${id}.p`, `${id}.p12345`]) {
      const refused = { status: 400, code: 'invalid_value', param: 'last-event-id' }
      await expectError(await watch(id, { 'last-event-id': eventId }), refused)
    }
  })

  it('have the price of the same request as a stream', async () => {
    const body = { ...asked, n: 2 }
    const job = await startJob(gateway, body)
    await endedJob(gateway, job.id)
    const streamed = await vendors.post(generations, { ...body, stream: true })
    const last = imageEventsIn(await streamed.text()).at(-1)!
    const { result } = await getJob(gateway, job.id)
    expect(result!.usage).to.deep.include(last.usage)
    const wires = openai.calls.map(({ body: sent }) => sent)
    expect(wires.slice(0, 2)).to.deep.equal(wires.slice(2))
    expect(wires[0]).to.include({ stream: true, partial_images: 2 })
    const { cost_nano_usd: cost } = (await rowOf(gateway, job))!
    expect(Number(cost)).to.equal(Math.round(last.usage!.cost! * 1e9))
    const amountOf = async (more: object) => {
      const request = { ...body, ...more }
      const quote = await vendors.post('/v1/prices', { operation: 'createImage', request })
      return ((await quote.json()) as { routes: unknown[] }).routes
    }
    expect(await amountOf({})).to.deep.equal(await amountOf({ stream: true }))
  })

  it('are those of edits too, and of the sandbox', async () => {
    const images = [{ image_url: pixel }]
    const { id } = await startJob(gateway, { ...asked, images })
    const text = await (await watch(id)).text()
    expect(text).to.include('event: image_edit.completed')
    const key = gateway.testKey
    const prompt = 'A harbour sandbox:delay=300'
    const tested = await startJob(gateway, { ...asked, prompt, partial_images: 3 }, { key })
    const events = imageEventsIn(await (await watch(tested.id, {}, key)).text())
    expect(namesOf(events)).to.deep.equal([
      'partial 0/0',
      'partial 0/1',
      'partial 0/2',
      'completed 0',
    ])
  })

  it("are read by the event reader of OpenAI's client", async () => {
    const go = stepwise([partial(0), partial(1), completed()])
    const { id } = await startJob(gateway, asked)
    const response = await watch(id)
    const types: string[] = []
    go()
    for await (const event of Stream.fromSSEResponse<ImageEvent>(response, new AbortController())) {
      types.push(event.type)
      go()
    }
    const [before, after] = ['image_generation.partial_image', 'image_generation.completed']
    expect(types).to.deep.equal([before, before, after])
  })

  it('that a slow watcher could not read yet are superseded, and never wait in the gateway', async () => {
    const large = (await noisePng(1200, 1200)).toString('base64')
    const pictures = 4
    const go = Promise.withResolvers<void>()
    const pieces = [partial(0, large), partial(1, large), completed()]
    openai.play(...Array.from({ length: pictures }, () => ({ after: go.promise, pieces })))
    const { id } = await startJob(gateway, { ...asked, n: pictures })
    const slow = await unread(`${gateway.url}${jobsPath}/${id}/events`, gateway.liveKey)
    go.resolve()
    await endedJob(gateway, id)
    // One event waits, of which the sockets hold a part.
    await eventually(async () =>
      expect(await bufferedBytes(gateway)).to.be.within(1, 1.5 * large.length),
    )
    const events = imageEventsIn(await slow.rest())
    const names = namesOf(events)
    expect(names.filter((name) => name.startsWith('completed'))).to.have.lengthOf(pictures)
    expect(names.filter((name) => name.startsWith('partial'))).to.have.lengthOf.below(pictures)
    await nothingBuffered(gateway)
  })

  it('end when the job is cancelled, and the event says so', async () => {
    const go = stepwise([partial(0), partial(1), completed()])
    const { id } = await startJob(gateway, asked)
    const [one, other] = [await watching(id), await watching(id)]
    go()
    await Promise.all([one.names(1), other.names(1)])
    await one.leave()
    const path = `${jobsPath}/${id}/cancel`
    const response = await gateway.fetch(path, { method: 'POST', key: gateway.liveKey })
    expect(((await response.json()) as Job).status).to.equal('cancelled')
    const events = await other.end()
    expect(namesOf(events)).to.deep.equal(['partial 0/0', 'error'])
    expect(events[1]!.error).to.include({
      code: 'cancelled',
      type: 'invalid_request_error',
      message: 'The job was cancelled.',
    })
    await until('the vendor is left', () => openai.calls[0]!.aborted)
  })

  it('end when the key of the watcher is revoked, or the job is deleted', async () => {
    const go = stepwise([partial(0), completed()])
    const { id } = await startJob(gateway, asked)
    const key = await gateway.createKey('live')
    const response = await watch(id, {}, key)
    await gateway.db
      .updateTable('api_keys')
      .set({ revoked_at: 1 })
      .where('hint', '=', `${key.slice(0, 9)}…${key.slice(-4)}`)
      .execute()
    const [ended] = imageEventsIn(await response.text())
    expect(ended!.error).to.include({ code: 'invalid_api_key' })
    const left = await watching(id)
    go()
    await left.names(1)
    await gateway.fetch(`${jobsPath}/${id}`, { method: 'DELETE', key: gateway.liveKey })
    const events = await left.end()
    expect(namesOf(events)).to.deep.equal(['partial 0/0', 'error'])
    expect(events[1]!.error).to.include({ code: 'not_found' })
  })

  it('end when the process of the job is gone, and nothing is bought again', async () => {
    const go = stepwise([partial(0), completed()])
    const { id } = await startJob(gateway, asked)
    const watcher = await watching(id)
    go()
    await watcher.names(1)
    const rows = gateway.db.updateTable('image_jobs').where('id', '=', id)
    await rows.set({ owner: 'elsewhere 1 x' }).execute()
    const events = await watcher.end()
    expect(namesOf(events)).to.deep.equal(['partial 0/0', 'error'])
    expect(events[1]!.error).to.include({ code: 'provider_error' })
    expect(openai.calls).to.have.lengthOf(1)
    await nothingBuffered(gateway)
  })

  it('of a model that makes none are a warning, and in strict mode a refusal', async () => {
    const body = { ...asked, model: 'alibaba/qwen-image-3.0' }
    const { id } = await startJob(gateway, body)
    const { result } = await endedJob(gateway, id)
    expect(result!.warnings!.map(({ param }) => param)).to.deep.equal(['partial_images'])
    const headers = { prefer: 'respond-async', 'x-gateway-strict': 'true' }
    const refused = await vendors.post(generations, body, { headers })
    const expected = { status: 400, code: 'unsupported_parameter', param: 'partial_images' }
    await expectError(refused, expected)
  })

  it('without a stream and a job are refused with both remedies', async () => {
    const { message } = await expectError(await vendors.post(generations, asked), {
      status: 400,
      code: 'invalid_value',
      param: 'partial_images',
    })
    expect(message).to.include("'stream': true").and.include('Prefer: respond-async')
    expect(openai.calls).to.deep.equal([])
  })

  it('are lost with the encryption key, as the pictures are, with a sentence', async () => {
    const { id } = await startJob(gateway, asked)
    await endedJob(gateway, id)
    const rows = gateway.db.updateTable('image_jobs').where('id', '=', id)
    await rows.set({ encryption_key_id: 'gone' }).execute()
    const [event] = imageEventsIn(await (await watch(id)).text())
    expect(event!.error).to.include({ code: 'not_found', param: 'job_id' })
    expect(event!.error!.message).to.include('encryption key')
    const { status, result, error } = await getJob(gateway, id)
    expect({ status, result, error }).to.deep.equal({
      status: 'completed',
      result: null,
      error: event!.error,
    })
  })
})

/** The part of a stream that has whole events. */
const whole = (text: string) => text.slice(0, text.lastIndexOf('\n\n') + 2)

/** Asks, and reads nothing of the answer until `rest` is called. */
async function unread(url: string, key: string) {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const asking = request(url, { headers: { authorization: `Bearer ${key}` } }, resolve)
    asking.on('error', reject).end()
  })
  return {
    rest: async () => {
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += String(chunk)
      return text
    },
  }
}
