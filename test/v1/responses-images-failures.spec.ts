import { expect } from 'chai'
import { nanoPerUsd, setBudgetOfKey } from '../support/budgets.ts'
import { expectError } from '../support/expect-error.ts'
import {
  asksForImage,
  imageNanoUsd,
  imagesIn,
  imageTool,
  readAnswer,
  startImageTool,
  type ImageToolHouse,
} from '../support/image-tool.ts'
import { countLeft } from '../support/metric.ts'
import { pixel } from '../support/pixel.ts'
import { checkResponseEvents } from '../support/response-events.ts'
import { until } from '../support/until.ts'

const base64 = pixel.slice(pixel.indexOf(',') + 1)
const ends = { text: ['There it is.'] }

describe('the tool image_generation, in trouble', () => {
  let house: ImageToolHouse
  before(async () => {
    house = await startImageTool({ bounds: { keyCacheMs: 0 } })
  })
  beforeEach(() => house.images.reset())
  after(() => house.stop())

  const rowsFrom = async (before: number) => (await house.gateway.usage()).slice(before)
  const count = async () => (await house.gateway.usage()).length

  for (const stream of [false, true]) {
    const name = stream ? 'streamed' : 'whole'
    it(`is not called when the budget does not cover the image; ${name}`, async () => {
      const key = await house.gateway.createKey('live')
      await setBudgetOfKey(house.gateway, key, { nanoUsd: imageNanoUsd - 1, period: 'total' })
      const sent = house.says(asksForImage(), ends)
      const before = await count()
      const response = await house.post({ max_output_tokens: 100, stream }, { key })
      const answer = await readAnswer(response)
      expect(house.images.calls).to.deep.equal([])
      const [image] = imagesIn(answer)
      expect(image).to.include({ status: 'failed', result: '' })
      expect(image!['error']).to.include({ code: 'insufficient_quota', type: 'billing_error' })
      expect(answer.output.at(-1)).to.include({ type: 'message' })
      expect(JSON.stringify(sent[1])).to.contain('budget')
      const rows = await rowsFrom(before)
      expect(rows.map(({ modality }) => modality)).to.deep.equal(['chat', 'chat'])
    })

    it(`spends the whole cost from the budget; ${name}`, async () => {
      const key = await house.gateway.createKey('live')
      await setBudgetOfKey(house.gateway, key, { nanoUsd: nanoPerUsd, period: 'total' })
      house.says(asksForImage(), ends)
      const response = await house.post({ stream }, { key })
      const { usage } = await readAnswer(response)
      const { budget } = (await (await house.gateway.fetch('/api/key', { key })).json()) as {
        budget: Record<'spent' | 'reserved', { nano_usd: number }>
      }
      expect(budget.spent.nano_usd).to.equal(Math.round(usage.cost * nanoPerUsd))
      expect(budget.reserved.nano_usd).to.equal(0)
    })

    it(`returns the image although the model does not continue; ${name}`, async () => {
      house.says(asksForImage(), 'fails')
      const response = await house.post({ stream })
      const answer = await readAnswer(response)
      expect(answer.status).to.equal('completed')
      expect(answer.output.map(({ type, status }) => [type, status])).to.deep.equal([
        ['image_generation_call', 'completed'],
      ])
      expect(answer.warnings!.at(-1)!.reason).to.match(/did not continue after the image/)
    })
  }

  it('fails if the model breaks off after the image has been announced', async () => {
    house.says(asksForImage(), 'fails')
    house.images.play({ status: 500 })
    const { types, response } = checkResponseEvents(
      await (await house.post({ stream: true })).text(),
    )
    expect(types.slice(-2)).to.deep.equal(['error', 'response.failed'])
    expect(response.error).to.include({ code: 'server_error' })
    house.images.play({ status: 500 })
    house.says(asksForImage(), 'fails')
    await expectError(await house.post(), { status: 502, code: 'provider_error' })
  })

  it('lets the model try again when its arguments are unusable', async () => {
    for (const args of [{}, { prompt: ' ' }, { prompt: 7 }]) {
      const sent = house.says(asksForImage(args), asksForImage(), ends)
      const answer = await readAnswer(await house.post())
      expect(imagesIn(answer).map(({ status }) => status)).to.deep.equal(['completed'])
      expect(JSON.stringify(sent[1])).to.contain('arguments must be')
    }
  })

  it('makes at most eight images', async () => {
    const sent = house.says(asksForImage())
    const answer = await readAnswer(await house.post())
    expect(imagesIn(answer)).to.have.length(8)
    expect(sent).to.have.length(9)
  })

  it('stops when the client has disconnected, and charges the image that it had asked for', async () => {
    for (const stream of [false, true]) {
      house.images.reset()
      const sent = house.says(asksForImage(), ends)
      const before = await count()
      const counted = await countLeft(house.gateway)
      const { promise, resolve: release } = Promise.withResolvers<void>()
      house.images.play({ after: promise, body: { data: [{ b64_json: base64 }] } })
      const leaving = new AbortController()
      const asked = house.post({ stream }, { signal: leaving.signal })
      const reading = asked.then((response) => response.text())
      reading.catch(() => undefined)
      await until('the image is asked for', () => house.drawn().length > 0)
      leaving.abort()
      await counted.until(1)
      release()
      await until('the image is recorded', async () => (await rowsFrom(before)).length === 2)
      expect((await rowsFrom(before)).map((row) => [row.modality, row.outcome])).to.deep.equal([
        ['chat', 'ok'],
        ['image', 'ok'],
      ])
      expect(sent).to.have.length(1)
    }
  })

  it('has one deadline for all calls of a response', async () => {
    const quick = await startImageTool({ limits: { chat_timeout_ms: 500 } })
    try {
      for (const stream of [false, true]) {
        const sent = quick.says(asksForImage(), ends)
        quick.images.play({ hang: true })
        const response = await quick.post({ stream })
        if (stream) {
          const { response: failed } = checkResponseEvents(await response.text())
          expect(failed).to.include({ status: 'failed' })
        } else await expectError(response, { status: 504, code: 'timeout' })
        expect(sent).to.have.length(1)
      }
      const rows = await quick.gateway.usage()
      expect(rows.map((row) => row.modality)).to.deep.equal(['chat', 'image', 'chat', 'image'])
    } finally {
      await quick.stop()
    }
  })

  it('returns an image that was made in time', async () => {
    const quick = await startImageTool({ limits: { chat_timeout_ms: 700 } })
    try {
      const calls = [1, 2].map((number) => ({
        id: `call_${number}`,
        name: 'image_generation',
        args: { prompt: `Boat ${number}`, action: 'generate' },
      }))
      for (const stream of [false, true]) {
        quick.says({ calls, end: 'tool_calls' }, ends)
        quick.images.play('paint', { hang: true })
        const answer = await readAnswer(await quick.post({ stream }))
        expect(imagesIn(answer).map(({ status }) => status)).to.deep.equal(['completed', 'failed'])
        expect(answer.warnings!.at(-1)!.reason).to.match(/did not continue .* in time/)
      }
    } finally {
      await quick.stop()
    }
  })

  it('is done once per idempotency key', async () => {
    const sent = house.says(asksForImage(), ends)
    const before = await count()
    const headers = { 'idempotency-key': 'boat-1' }
    const first = await readAnswer(await house.post({}, { headers }))
    const again = await house.post({}, { headers })
    expect(again.headers.get('idempotent-replayed')).to.equal('true')
    expect(await readAnswer(again)).to.deep.equal(first)
    expect(sent).to.have.length(2)
    expect(await rowsFrom(before)).to.have.length(3)
    expect(house.drawn()).to.have.length(1)
  })

  it('works with a test key', async () => {
    for (const stream of [false, true]) {
      const response = await house.post(
        { stream, tool_choice: imageTool },
        { key: house.gateway.testKey },
      )
      const answer = await readAnswer(response)
      expect(imagesIn(answer)).to.have.length(1)
      expect(answer.output.at(-1)).to.include({ type: 'message' })
      expect(house.drawn()).to.deep.equal([])
    }
  })
})
