import { expect } from 'chai'
import sharp from 'sharp'
import type { FailureKind } from '../../src/core/failure.ts'
import { expectError } from '../support/expect-error.ts'
import { fixture, type ImageDouble } from '../support/image-doubles/double.ts'
import { numberIn, paint } from '../support/image-doubles/paint.ts'
import {
  startImageVendors,
  vendorKeys,
  type ImageVendors,
  type VendorName,
} from '../support/image-vendors.ts'
import type { ScriptedAnswer } from '../support/upstream.ts'
import { transportFaults } from './transport-faults.ts'

/** The data about a vendor that the suite needs. */
export type ImageVendorCase = {
  vendor: VendorName
  /** The public id of a model of the vendor. */
  model: string
  /** The path of a request without options at the vendor; `plain` is the body of this request. */
  path: string
  plain: object
  /** The header that carries the key, and its value. */
  keyHeader: { name: string; value: string }
  options: OptionRow[]
  failures: FailureRow[]
  /** The fixture of an error that the caller caused. The caller must receive its message. */
  refusal: string
  /** Whether the vendor accepts seeds, which identify pictures in these tests. */
  seeds: boolean
  /** The number of pictures per call. */
  picturesPerCall?: number
  /** An answer with this picture; absent if the vendor answers with URLs. */
  answerWith?: (base64: string) => ScriptedAnswer
}
type OptionRow = {
  name: string
  model?: string
  body: object
  /** Changes of `plain` in the vendor's request; undefined removes a member. */
  wire?: Record<string, unknown>
  /** The parameters of the expected warnings. */
  warnings?: string[]
  refused?: { code: string; param: string }
}
type FailureRow = { name: string; kind: FailureKind; retryAfter?: string; attempts?: number }

export const prompt = 'A red kite over dunes'
const generations = '/v1/images/generations'

/** The caller's error for each kind of failure. */
const errors: Record<FailureKind, { status: number; code: string }> = {
  unreachable: { status: 502, code: 'provider_error' },
  timeout: { status: 504, code: 'timeout' },
  overloaded: { status: 502, code: 'provider_error' },
  rate_limited: { status: 429, code: 'rate_limit_exceeded' },
  out_of_credit: { status: 502, code: 'provider_error' },
  credentials: { status: 502, code: 'provider_error' },
  not_found: { status: 404, code: 'model_not_found' },
  malformed: { status: 502, code: 'provider_error' },
  no_picture: { status: 502, code: 'provider_error' },
  rejected: { status: 400, code: 'invalid_value' },
  context_length: { status: 400, code: 'context_length_exceeded' },
  too_large: { status: 413, code: 'request_too_large' },
  content_policy: { status: 400, code: 'content_policy_violation' },
  no_memory: { status: 503, code: 'overloaded' },
  busy: { status: 503, code: 'overloaded' },
  cancelled: { status: 504, code: 'timeout' },
}

/** Kinds of failures for which the provider charges nothing, because it made no picture. */
const refused = /^(overloaded|rate_limited|credentials|out_of_credit|not_found|rejected)$/

/** Tests that every image vendor must pass. */
export function imageSuite(vendorCase: ImageVendorCase): void {
  const { vendor, model, path, plain, keyHeader, options, failures, seeds } = vendorCase
  const key = vendorKeys[vendor]
  let vendors: ImageVendors
  let double: ImageDouble

  const start = async (limits: Record<string, number> = {}) => {
    vendors = await startImageVendors({ vendors: [vendor], limits })
    double = vendors.doubles[vendor]
  }
  before(() => start())
  beforeEach(() => vendors.reset())
  after(() => vendors.stop())

  const ask = (body: object = {}, headers = {}) =>
    vendors.post(generations, { model, prompt, ...body }, { headers })

  /** Sends a request and checks the failure in the answer and in the ledger. */
  async function expectFailure(
    kind: FailureKind,
    ended: object = { outcome: 'failed', ...(refused.test(kind) && { cost_nano_usd: 0 }) },
    tried = 1,
  ): Promise<Response> {
    const response = await ask()
    const copy = response.clone()
    await expectError(response, errors[kind])
    const rows = await vendors.gateway.usage()
    const row = rows.find(({ id }) => id === response.headers.get('x-request-id'))!
    expect(row).to.include(ended)
    const attempts = JSON.parse(row.attempts) as { provider: string; outcome: string }[]
    expect(attempts.map(({ provider, outcome }) => `${provider} ${outcome}`)).to.deep.equal(
      Array.from({ length: tried }, () => `${vendor} ${kind}`),
    )
    return copy
  }

  describe('is asked', () => {
    it('for a picture in its format, with the key in its header', async () => {
      const { data } = await vendors.images({ model, prompt })
      expect(data).to.have.length(1)
      expect(double.calls).to.have.length(1)
      const [{ method, path: asked, headers, body }] = double.calls as [(typeof double.calls)[0]]
      expect(`${method} ${asked}`).to.equal(`POST ${path}`)
      expect(headers['content-type']).to.equal('application/json')
      expect(headers[keyHeader.name]).to.equal(keyHeader.value)
      expect(body).to.deep.equal(plain)
    })

    it('with identical bytes for identical requests', async () => {
      await vendors.images({ model, prompt, n: 1 })
      await vendors.images({ model, prompt, n: 1 })
      const [first, second] = double.calls.map(({ bytes }) => bytes.toString())
      expect(first).to.equal(second)
    })

    for (const { name, body, wire, warnings = [], refused, ...row } of options) {
      it(name, async () => {
        const response = await ask({ model: row.model ?? model, ...body })
        if (refused !== undefined) {
          await expectError(response, { status: 400, ...refused })
          expect(double.calls).to.deep.equal([])
          return
        }
        const text = await response.text()
        expect(response.status, text).to.equal(200)
        const answer = JSON.parse(text) as { warnings?: { param: string }[] }
        expect((answer.warnings ?? []).map(({ param }) => param)).to.deep.equal(warnings)
        expect(double.calls[0]!.body).to.deep.equal(merged(plain, wire ?? {}))
        const strict = await ask(
          { model: row.model ?? model, ...body },
          { 'x-gateway-strict': 'true' },
        )
        expect(strict.status, await strict.text()).to.equal(warnings.length === 0 ? 200 : 400)
      })
    }
  })

  describe('fails', () => {
    // Short for a vendor that sends nothing; a busy machine takes longer to paint a large picture.
    const limits = { upstream_headers_timeout_ms: 1000, upstream_idle_timeout_ms: 1000 }
    before(() => vendors.stop().then(() => start(limits)))
    after(() => vendors.stop().then(() => start()))

    for (const { name, kind, retryAfter, attempts } of failures) {
      it(`as ${kind} with ${name}`, async () => {
        double.play(fixture(`${vendor}/${name}`), fixture(`${vendor}/${name}`))
        const response = await expectFailure(kind, undefined, attempts)
        if (retryAfter !== undefined) {
          expect(response.headers.get('retry-after')).to.equal(retryAfter)
        }
      })
    }

    for (const { name, script, kind } of transportFaults) {
      it(`as ${kind} when it ${name}`, async () => {
        double.play(script, script)
        const isUnknown = kind === 'unreachable' || kind === 'timeout' || script.status === 502
        if (!isUnknown) return void (await expectFailure(kind))
        await expectFailure(kind, { outcome: 'unknown', cost_nano_usd: null })
        expect(double.calls).to.have.length(1)
      })
    }

    it('as malformed when its picture is not a picture', async () => {
      playBytes(Buffer.from('this is no picture, whatever it is called'))
      await expectFailure('malformed')
    })

    it('as malformed when a broken picture must be converted', async () => {
      const whole = await paint({ width: 1024, height: 1024, format: 'jpeg', number: 1 })
      const noisy = await sharp(whole).blur(3).png().toBuffer()
      playBytes(noisy.subarray(0, noisy.length / 2))
      const response = await ask({ output_format: 'webp' })
      await expectError(response, errors.malformed)
    })

    it('without its key in the message, even if the vendor repeats the key', async () => {
      const { body, ...answer } = fixture(`${vendor}/${vendorCase.refusal}`)
      const text = JSON.stringify(body).replace(
        /"(message|error|detail|msg)":"/,
        (start) => `${start}The key ${key} is here. `,
      )
      double.play({ ...answer, body: text })
      const { message } = await expectError(await ask(), errors.rejected)
      expect(message).to.include('is here.').and.not.include(key)
    })
  })

  function playBytes(bytes: Buffer): void {
    const { answerWith } = vendorCase
    if (answerWith === undefined) double.playFetches({ body: bytes })
    else double.play(answerWith(bytes.toString('base64')))
  }

  it('may send its picture in pieces of any size', async () => {
    const bytes = await paint({ width: 64, height: 48, format: 'png', number: 6 })
    const { answerWith } = vendorCase
    if (answerWith === undefined) double.playFetches({ pieces: inPieces(bytes) })
    else {
      const whole = JSON.stringify(answerWith(bytes.toString('base64')).body)
      double.play({ pieces: inPieces(Buffer.from(whole)) })
    }
    const { data } = await vendors.images({ model, prompt })
    expect(data.map(({ b64_json: base64 }) => base64)).to.deep.equal([bytes.toString('base64')])
  })

  describe('makes several pictures', () => {
    const perCall = vendorCase.picturesPerCall ?? 1

    it('in the order of their seeds, different for each call', async () => {
      double.delayBy(({ body }) => Math.max(0, 40 - 10 * (seedIn(body) ?? 0)))
      const asked = seeds ? { image_config: { seed: 3 } } : {}
      const body = { model, messages: [{ role: 'user', content: prompt }], n: 5, ...asked }
      const response = await vendors.post('/v1/chat/completions', body)
      const text = await response.text()
      expect(response.status, text).to.equal(200)
      const numbers = await Promise.all(imagesIn(text).map(numberIn))
      expect(new Set(numbers)).to.have.property('size', 5)
      if (!seeds) return
      expect(numbers).to.deep.equal([3, 4, 5, 6, 7])
      const starts = Array.from({ length: Math.ceil(5 / perCall) }, (_, i) => 3 + i * perCall)
      expect(double.calls.map((call) => seedIn(call.body))).to.have.members(starts)
    })

    it('with a limited number of concurrent calls', async () => {
      let [open, most] = [0, 0]
      double.delayBy(({ closed }) => {
        most = Math.max(most, ++open)
        void closed.then(() => open--)
        return 60
      })
      const { data } = await vendors.images({ model, prompt, n: 10 })
      expect(data).to.have.length(10)
      expect(double.calls).to.have.length(Math.ceil(10 / perCall))
      const bound = Math.min(4, Math.ceil(10 / perCall))
      expect(most).to.be.within(Math.min(2, bound), bound)
    })
  })

  it('leaves no key in an answer, a log line or a row', async () => {
    const response = await ask()
    const rows = JSON.stringify(await vendors.gateway.usage())
    const answered = (await response.text()) + JSON.stringify([...response.headers])
    for (const text of [answered, rows, vendors.gateway.logText()]) {
      expect(text).to.not.include(key)
      expect(text).to.be.not.empty
    }
  })
}

/** Splits bytes into pieces of one byte, two bytes, three bytes, … */
function* inPieces(bytes: Buffer): Iterable<Buffer> {
  for (let [from, size] = [0, 1]; from < bytes.length; from += size++) {
    yield bytes.subarray(from, from + size)
  }
}

/** `base` with changes: objects are merged, undefined removes a member, other values replace it. */
function merged(base: object, changes: Record<string, unknown>): object {
  const result: Record<string, unknown> = { ...base }
  for (const [name, value] of Object.entries(changes)) {
    const old = result[name]
    if (value === undefined) delete result[name]
    else if (isRecord(old) && isRecord(value)) result[name] = merged(old, value)
    else result[name] = value
  }
  return result
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The seed in a request to any vendor; undefined when the request has none. */
function seedIn(body: unknown): number | undefined {
  const found = /"(?:random_)?seed":(\d+)/.exec(JSON.stringify(body))
  return found === null ? undefined : Number(found[1])
}

/** The bytes of the pictures in a chat answer. */
export function imagesIn(text: string): Buffer[] {
  return [...text.matchAll(/"url":"data:image\/[a-z]+;base64,([^"]+)"/g)].map(([, base64]) =>
    Buffer.from(base64!, 'base64'),
  )
}
