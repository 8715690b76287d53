import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { expectError } from '../support/expect-error.ts'
import { imageEventsIn, namesOf, type ImageEvent } from '../support/image-events.ts'
import type { ImageDouble } from '../support/image-doubles/double.ts'
import { eventText } from '../support/image-doubles/openai.ts'
import { paint } from '../support/image-doubles/paint.ts'
import { startImageVendors, type ImageVendors } from '../support/image-vendors.ts'

const generations = '/v1/images/generations'
const asked = { model: 'gpt-image-1.5', prompt: 'a fox', stream: true, partial_images: 2 }
const usage = { input_tokens: 20, output_tokens: 1200, total_tokens: 1220 }
/** More than the vendor may send for a picture. */
const answerBytesMax = 4 * 1024 * 1024
const idleTimeoutMs = 100

describe("a vendor's stream of a picture", () => {
  let vendors: ImageVendors
  let openai: ImageDouble
  let base64: string
  before(async () => {
    vendors = await startImageVendors({
      vendors: ['openai', 'alibaba'],
      limits: { upstream_idle_timeout_ms: idleTimeoutMs },
      bounds: { upstreamEndTimeoutMs: 50, upstreamAnswerBytesMax: answerBytesMax },
    })
    openai = vendors.doubles.openai
    const painted = await paint({ width: 64, height: 64, format: 'png', number: 3 })
    base64 = painted.toString('base64')
  })
  beforeEach(() => vendors.reset())
  after(() => vendors.stop())

  const partial = (index: number, data = base64) =>
    eventText('image_generation.partial_image', { b64_json: data, partial_image_index: index })
  const completed = (data = base64) =>
    eventText('image_generation.completed', { b64_json: data, quality: 'low', usage })
  const stream = async (more: object = {}) => {
    const response = await vendors.post(generations, { ...asked, ...more })
    const text = await response.text()
    expect(response.status, text.slice(0, 500)).to.equal(200)
    return imageEventsIn(text)
  }
  const expectPicture = (events: readonly ImageEvent[], partials = 2) => {
    const names = ['partial 0/0', 'partial 0/1'].slice(0, partials)
    expect(namesOf(events)).to.deep.equal([...names, 'completed 0'])
    for (const { b64_json: data, size } of events)
      expect({ data, size }).to.deep.equal({ data: base64, size: '64x64' })
    expect(events.at(-1)).to.have.property('quality', 'low')
  }

  it('may come in pieces of any size, with any line ends and with pings', async () => {
    const text = `: ping\n\n${partial(0)}: ping\n\n${partial(1)}${completed()}data: [DONE]\n\n`
    for (const ends of ['\n', '\r\n', '\r']) {
      const bytes = Buffer.from(text.replaceAll('\n', ends))
      for (const length of [1, 7, 1000, bytes.length]) {
        openai.play({ pieces: cut(bytes, length) })
        expectPicture(await stream())
      }
    }
  })

  it('may be pretty-printed, with an index that begins at 1 or is missing', async () => {
    const data = JSON.stringify(JSON.parse(partial(2).split('data: ')[1]!), null, 1)
    const pretty = `${data.replaceAll(/^/gm, 'data: ')}\n\n`
    const bare = `data: ${JSON.stringify({ type: 'image_generation.partial_image', b64_json: base64 })}\n\n`
    openai.play({ pieces: [pretty, bare, completed()] })
    expectPicture(await stream())
  })

  it('may be an answer in one piece, of a server that does not stream', async () => {
    const headers = { 'content-type': 'application/json' }
    openai.play({
      headers,
      body: { created: 1, quality: 'low', data: [{ b64_json: base64 }], usage },
    })
    expectPicture(await stream(), 0)
  })

  it('may have fewer partial images than requested, or broken ones, which are left out', async () => {
    const broken = ['', 'AAAA', '!!!', base64.slice(40)].map((data) => partial(0, data))
    openai.play({ pieces: [...broken, partial(0), completed()] })
    expectPicture(await stream(), 1)
  })

  it('has at most the requested partial images forwarded, of any number', async () => {
    const many = Array.from({ length: 3000 }, (_, index) => partial(index))
    openai.play({ pieces: [...many, completed()] })
    expectPicture(await stream())
  })

  it('is left when it stays open after the picture', async () => {
    openai.play({ pieces: [partial(0), partial(1), completed()], hang: true })
    expectPicture(await stream())
  })

  it('may pause as long as a picture without a stream may take', async () => {
    // undici notices an idle connection after a second or more.
    openai.play({ pieces: paused([partial(0), partial(1) + completed()], 1500) })
    expectPicture(await stream())
  })

  it('fails over before its first partial image, and also after a refusal in it', async () => {
    const failed = eventText('error', { error: { type: 'server_error', message: 'Overloaded.' } })
    for (const script of [
      { status: 503 },
      { pieces: [failed] },
      { pieces: [partial(0), failed] },
    ]) {
      vendors.reset()
      openai.play(script)
      const events = await stream({ models: ['alibaba/qwen-image-3.0'] })
      expect(events.at(-1)!.type).to.equal('image_generation.completed')
      expect(events.at(-1)!.late_headers ?? {}).to.be.an('object')
      expect(vendors.doubles.alibaba.calls).to.have.lengthOf(1)
    }
  })

  it('that breaks off after a partial image is an error event, and nothing is requested again', async () => {
    openai.play({ pieces: [partial(0)], reset: 'after' })
    const events = await stream({ models: ['alibaba/qwen-image-3.0'] })
    expect(namesOf(events)).to.deep.equal(['partial 0/0', 'error'])
    expect(events[1]!.error).to.include({ code: 'provider_error' })
    expect(events[1]!.error!.message).to.include('may have been made and charged')
    expect(openai.calls).to.have.lengthOf(1)
    expect(vendors.doubles.alibaba.calls).to.deep.equal([])
  })

  it('that ends without its picture is the same error', async () => {
    openai.play({ pieces: [partial(0), partial(1)] })
    const events = await stream({ models: ['alibaba/qwen-image-3.0'] })
    expect(namesOf(events)).to.deep.equal(['partial 0/0', 'partial 0/1', 'error'])
    expect(events[2]!.error!.message).to.include('may have been made and charged')
    expect(openai.calls).to.have.lengthOf(1)
  })

  it('that ends in the middle of its picture is an error', async () => {
    openai.play({ pieces: [partial(0), completed().slice(0, 200)] })
    const events = await stream()
    expect(namesOf(events)).to.deep.equal(['partial 0/0', 'error'])
  })

  it('that reports an unsafe picture is an error with this code', async () => {
    const error = {
      code: 'moderation_blocked',
      type: 'image_generation_user_error',
      message: 'No.',
    }
    openai.play({ pieces: [partial(0), eventText('error', { error })] })
    const events = await stream()
    expect(namesOf(events)).to.deep.equal(['partial 0/0', 'error'])
    expect(events[1]!.error).to.include({ code: 'content_policy_violation' })
    openai.play({ pieces: [eventText('error', { error })] })
    const response = await vendors.post(generations, asked)
    await expectError(response, { status: 400, code: 'content_policy_violation' })
  })

  it('is cut off when it is larger than an answer may be', async () => {
    const large = 'A'.repeat(1024 * 1024)
    const pieces = Array.from({ length: 20 }, (_, index) => partial(index, large))
    openai.play({ pieces: [partial(0), ...pieces, completed()] })
    const events = await stream()
    expect(namesOf(events)).to.deep.equal(['partial 0/0', 'error'])
    expect(openai.calls[0]!.bytesSent).to.be.below(2 * answerBytesMax)
  })

  it('with a broken picture is an error', async () => {
    openai.play({ pieces: [partial(0), completed('AAAA')] })
    const events = await stream()
    expect(namesOf(events)).to.deep.equal(['partial 0/0', 'error'])
  })

  it('that fails for one of several pictures ends the stream, and tries no other model', async () => {
    openai.delayBy(() => 0)
    const whole = { pieces: [partial(0), partial(1), completed()] }
    openai.play(whole, whole, { status: 503, delayMs: 200 })
    const events = await stream({ n: 3, models: ['alibaba/qwen-image-3.0'] })
    expect(namesOf(events).filter((name) => name.startsWith('completed'))).to.have.lengthOf(1)
    expect(events.at(-1)!.type).to.equal('error')
    expect(vendors.doubles.alibaba.calls).to.deep.equal([])
  })
})

async function* paused(pieces: readonly string[], pauseMs: number): AsyncGenerator<string> {
  for (const [index, piece] of pieces.entries()) {
    if (index > 0) await sleep(pauseMs)
    yield piece
  }
}

function cut(bytes: Buffer, length: number): Buffer[] {
  const pieces = []
  for (let at = 0; at < bytes.length; at += length) pieces.push(bytes.subarray(at, at + length))
  return pieces
}
