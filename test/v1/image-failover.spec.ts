import { expect } from 'chai'
import fc from 'fast-check'
import type { Bounds } from '../../src/settings/bounds.ts'
import { expectError } from '../support/expect-error.ts'
import { startBytedanceDouble, bytedanceKey } from '../support/image-doubles/bytedance.ts'
import { fixture, type ImageDouble } from '../support/image-doubles/double.ts'
import { numberIn } from '../support/image-doubles/paint.ts'
import { startImageVendors, type ImagesBody, type ImageVendors } from '../support/image-vendors.ts'
import type { ScriptedAnswer } from '../support/upstream.ts'

const model = 'bytedance/seedream-4-0'
const prompt = 'Three cranes'
const path = '/v1/images/generations'
const small = { model, prompt, size: '1024x1024' }
const priceNanoUsd = 35_000_000

const busy = fixture('bytedance/server-overloaded')
const unsafe = fixture('bytedance/output-sensitive')
const noPicture: ScriptedAnswer = { body: { data: [{ b64_json: 'bm8=' }] } }

/** A gateway with two routes to the model; the second server is OpenAI-compatible. */
async function startTwoRoutes(bounds: Partial<Bounds>, limits: Record<string, number> = {}) {
  const second = await startBytedanceDouble()
  const spare = {
    id: 'spare',
    kind: 'openai-compatible',
    base_url: second.url,
    api_key_env: 'SPARE_API_KEY',
    models: ['seedream-4-0-250828'],
  }
  const routes = { [model]: ['bytedance', 'spare/seedream-4-0-250828'] }
  const vendors = await startImageVendors({
    vendors: ['bytedance'],
    variables: { SPARE_API_KEY: bytedanceKey },
    limits,
    bounds,
    file: { providers: [spare], routes },
  })
  return { vendors, first: vendors.doubles.bytedance, second }
}

describe('the pictures of a model with two routes', () => {
  let vendors: ImageVendors
  let first: ImageDouble
  let second: ImageDouble
  before(async () => {
    // Image calls run one after another, so that the doubles receive the calls in order.
    const started = await startTwoRoutes({ imageCallsConcurrentMax: 1 })
    ;({ vendors, first, second } = started)
  })
  beforeEach(() => {
    vendors.reset()
    second.reset()
  })
  after(async () => {
    await vendors.stop()
    await second.stop()
  })

  const rowOf = async (response: Response) => {
    const rows = await vendors.gateway.usage()
    return rows.find(({ id }) => id === response.headers.get('x-request-id'))!
  }
  it('come from the second route when the first fails', async () => {
    first.play(busy)
    const response = await vendors.post(path, small)
    expect(response.status, await response.clone().text()).to.equal(200)
    expect(response.headers.get('x-gateway-attempts')).to.equal('bytedance=overloaded, spare=ok')
    expect(response.headers.get('x-gateway-cost-usd')).to.equal('0.035')
    const { data } = (await response.json()) as ImagesBody
    expect(data).to.have.length(1)
    expect(await rowOf(response)).to.include({ images: 1, cost_nano_usd: priceNanoUsd })
  })

  it('fail over one by one and keep their order', async () => {
    first.play('paint', busy, 'paint', noPicture)
    const response = await vendors.post(path, { ...small, n: 4 })
    expect(response.status, await response.clone().text()).to.equal(200)
    const { data, usage } = (await response.json()) as ImagesBody
    expect(first.calls).to.have.length(4)
    expect(second.calls).to.have.length(2)
    const numbers = data.map(({ b64_json: base64 }) => numberIn(Buffer.from(base64, 'base64')))
    expect(await Promise.all(numbers)).to.deep.equal([0, 0, 2, 1])
    expect(usage).to.include({ cost: 0.14 })
    expect(usage.cost_details.images).to.equal(4)
    const row = await rowOf(response)
    expect(row).to.include({ images: 4, cost_nano_usd: 4 * priceNanoUsd, outcome: 'ok' })
    const outcomes = (JSON.parse(row.attempts) as { outcome: string }[]).map((a) => a.outcome)
    expect(outcomes).to.deep.equal(['ok', 'overloaded', 'ok', 'ok', 'malformed', 'ok'])
  })

  const allOrNone = [
    { name: 'both routes fail for one picture', answers: [busy], more: [busy], status: 502 },
    { name: 'one picture is unsafe', answers: [unsafe], more: [], status: 400 },
  ]
  for (const { name, answers, more, status } of allOrNone) {
    it(`are all returned or none, and those that were made are charged, when ${name}`, async () => {
      first.play('paint', ...answers, 'paint')
      second.play(...more)
      const response = await vendors.post(path, { ...small, n: 3 })
      const code = status === 400 ? 'content_policy_violation' : 'all_providers_failed'
      await expectError(response, { status, code })
      const { outcome, images, cost_nano_usd: cost } = await rowOf(response)
      expect(images).to.be.within(1, 2)
      expect([outcome, cost]).to.deep.equal(['failed', images * priceNanoUsd])
    })
  }

  it('are not requested from the second route when the first rejects the request', async () => {
    first.play(fixture('bytedance/oversized-image'))
    const response = await vendors.post(path, small)
    await expectError(response, { status: 400, code: 'invalid_value' })
    expect(second.calls).to.deep.equal([])
  })

  it('are not requested from the second route for a caller who disables failover', async () => {
    first.play(busy)
    const headers = { 'x-gateway-no-fallback': 'true' }
    const response = await vendors.post(path, small, { headers })
    await expectError(response, { status: 502, code: 'provider_error' })
    expect(second.calls).to.deep.equal([])
  })
})

const cut: ScriptedAnswer = { reset: 'before' }
const silent: ScriptedAnswer = { hang: true }

describe('a picture that the provider may have made before it failed', () => {
  let vendors: ImageVendors
  let first: ImageDouble
  let second: ImageDouble
  before(async () => {
    const started = await startTwoRoutes({ retryDelayMs: 1 }, { image_timeout_ms: 400 })
    ;({ vendors, first, second } = started)
  })
  beforeEach(() => {
    vendors.reset()
    second.reset()
  })
  after(async () => {
    await vendors.stop()
    await second.stop()
  })

  const endings = [
    { name: 'the connection ends', script: cut, status: 502, code: 'provider_error' },
    { name: 'the answer breaks off', script: halfAnswer(), status: 502, code: 'provider_error' },
    { name: 'the deadline passes', script: silent, status: 504, code: 'timeout' },
  ]
  for (const { name, script, ...expected } of endings) {
    it(`is not requested again when ${name}, as the ledger row and the error say`, async () => {
      first.play(script)
      const response = await vendors.post(path, small)
      const { error } = (await response.clone().json()) as { error: { message: string } }
      expect(error.message).to.match(
        /may have been made and charged.*'x-gateway-allow-repeat: true'/,
      )
      expect(response.headers.get('x-should-retry')).to.equal('false')
      const { headers } = response
      await expectError(response, expected)
      expect(first.calls).to.have.length(1)
      expect(second.calls).to.deep.equal([])
      const [row] = (await vendors.gateway.usage()).slice(-1)
      expect(row).to.include({
        id: headers.get('x-request-id'),
        outcome: 'unknown',
        error_code: expected.code,
        cost_nano_usd: null,
        cost_status: 'unknown',
      })
    })
  }

  it('is not requested from another model either', async () => {
    first.play(cut)
    const models = ['bytedance/seedream-4-0', 'bytedance/seedream-4-5']
    const response = await vendors.post(path, { ...small, models })
    await expectError(response, { status: 502, code: 'provider_error' })
    expect(first.calls).to.have.length(1)
  })

  it('is requested again for a caller who allows it', async () => {
    first.play(cut)
    const headers = { 'x-gateway-allow-repeat': 'true' }
    const response = await vendors.post(path, small, { headers })
    expect(response.status, await response.clone().text()).to.equal(200)
    expect(response.headers.get('x-gateway-attempts')).to.equal('bytedance=unreachable, spare=ok')
    expect(response.headers.get('x-should-retry')).to.equal(null)
    const [row] = (await vendors.gateway.usage()).slice(-1)
    expect(row).to.include({ outcome: 'ok', cost_nano_usd: priceNanoUsd })
  })

  it('is requested from the second route when the first refuses connections', async () => {
    const { vendors: own, first: gone, second: there } = await startTwoRoutes({ retryDelayMs: 1 })
    await gone.stop()
    const response = await own.post(path, small)
    expect(response.status, await response.clone().text()).to.equal(200)
    expect(response.headers.get('x-gateway-attempts')).to.equal('bytedance=unreachable, spare=ok')
    await own.stop()
    await there.stop()
  })
})

function halfAnswer(): ScriptedAnswer {
  return { headers: { 'content-length': '4096' }, body: '{"data":[', reset: 'after' }
}

describe('pictures made concurrently, some of which fail', () => {
  it('cost the same in the answers and in the ledger', async () => {
    const { vendors, first, second } = await startTwoRoutes({})
    let reported = 0
    const outcome = fc.constantFrom('paint' as const, 'paint' as const, busy, noPicture, unsafe)
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 10 }),
        fc.array(outcome, { maxLength: 6 }),
        fc.array(outcome, { maxLength: 3 }),
        async (n, firstPlays, secondPlays) => {
          first.reset()
          second.reset()
          first.play(...firstPlays)
          second.play(...secondPlays)
          const response = await vendors.post(path, { ...small, n })
          if (response.status !== 200) return
          const { data, usage } = (await response.json()) as ImagesBody
          expect(data).to.have.length(n)
          const nano = Math.round(usage.cost! * 1e9)
          expect(nano).to.equal(n * priceNanoUsd)
          expect(response.headers.get('x-gateway-cost-usd')).to.equal(String(usage.cost))
          reported += nano
        },
      ),
      { numRuns: 40, seed: 20_261_120 },
    )
    expect(reported).to.be.greaterThan(0)
    expect(await spent(vendors)).to.equal(reported)
    await vendors.stop()
    await second.stop()
  })
})

async function spent({ gateway }: ImageVendors): Promise<number> {
  const rows = await gateway.usage()
  const answered = rows.filter(({ outcome }) => outcome === 'ok')
  return answered.reduce((sum, { cost_nano_usd: cost }) => sum + (cost ?? 0), 0)
}
