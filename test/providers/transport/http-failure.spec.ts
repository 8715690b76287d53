import { expect } from 'chai'
import fc from 'fast-check'
import { ProviderFailure } from '../../../src/core/failure.ts'
import type { Complaint } from '../../../src/providers/transport/complaint.ts'
import { retryAfterSeconds } from '../../../src/core/retry-after.ts'
import { failureReader, kindOfStatus } from '../../../src/providers/transport/http-failure.ts'
import { createVendorTexts } from '../../../src/providers/transport/vendor-texts.ts'

type Headers = Record<string, string | string[]>

const secrets = ['sk-proj-0123456789', 'second-key']
const texts = createVendorTexts(secrets)
const complaintOf = (body: unknown) => (body as { error?: Complaint } | null)?.error ?? {}

function refusal(
  pieces: readonly (string | Buffer)[],
  status = 400,
  headers: Headers = {},
  wasSent = true,
): ProviderFailure | undefined {
  const reader = failureReader({ status, headers, wasSent }, complaintOf, kindOfStatus, texts)
  for (const piece of pieces) reader.push(Buffer.from(piece))
  try {
    reader.finish()
  } catch (error) {
    if (error instanceof ProviderFailure) return error
    throw error
  }
  return undefined
}
const bodyOf = (complaint: Complaint) => JSON.stringify({ error: complaint })

describe('the retry delay of an upstream', () => {
  const at = (time: string) => `Wed, 21 Oct 2015 ${time} GMT`
  const dated = (time: string) => ({ date: at(time) })
  const cases: { headers: Headers; seconds: number | undefined }[] = [
    { headers: {}, seconds: undefined },
    { headers: { 'retry-after': '7' }, seconds: 7 },
    { headers: { 'retry-after': '1.5' }, seconds: 1.5 },
    { headers: { 'retry-after': '0' }, seconds: 0 },
    { headers: { 'retry-after-ms': '1500' }, seconds: 1.5 },
    { headers: { 'retry-after-ms': '250', 'retry-after': '60' }, seconds: 0.25 },
    { headers: { 'retry-after-ms': 'soon', 'retry-after': '60' }, seconds: 60 },
    { headers: { 'retry-after': 'soon' }, seconds: undefined },
    { headers: { 'retry-after': '' }, seconds: undefined },
    { headers: { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, seconds: undefined },
    { headers: { ...dated('07:28:00'), 'retry-after': at('07:29:30') }, seconds: 90 },
    { headers: { ...dated('07:28:00'), 'retry-after': at('07:28:00') }, seconds: 0 },
    { headers: { ...dated('07:28:00'), 'retry-after': at('07:20:00') }, seconds: 0 },
  ]
  for (const { headers, seconds } of cases) {
    it(`is ${seconds ?? 'unknown'} by ${JSON.stringify(headers)}`, () => {
      expect(retryAfterSeconds({ headers })).to.equal(seconds)
    })
  }

  it('is a number of seconds or nothing, whatever the headers hold', () => {
    const text = fc.oneof(fc.string(), fc.integer().map(String), fc.double().map(String))
    fc.assert(
      fc.property(text, text, (seconds, milliseconds) => {
        const headers = { 'retry-after': seconds, 'retry-after-ms': milliseconds }
        const wait = retryAfterSeconds({ headers })
        expect(wait === undefined || wait >= 0).to.equal(true)
      }),
    )
  })
})

describe("an upstream's refusal", () => {
  const kinds = [
    [400, 'rejected'],
    [401, 'credentials'],
    [402, 'out_of_credit'],
    [403, 'credentials'],
    [404, 'not_found'],
    [408, 'timeout'],
    [409, 'overloaded'],
    [413, 'too_large'],
    [422, 'rejected'],
    [429, 'rate_limited'],
    [500, 'overloaded'],
    [503, 'overloaded'],
    [504, 'timeout'],
    [524, 'timeout'],
    [302, 'malformed'],
  ] as const
  for (const [status, kind] of kinds) {
    it(`is of the kind ${kind} by the status ${status}`, () => {
      expect(refusal([], status)).to.include({ kind, status })
    })
  }

  it('may be of a proxy before the vendor, which may have executed a request that was sent completely', () => {
    const page = ['<html>Bad gateway</html>']
    const isOpen = (...given: Parameters<typeof refusal>) => refusal(...given)!.mayBeCharged
    for (const status of [408, 502, 504, 520, 521, 522, 523, 524]) {
      expect(isOpen(page, status), `${status}`).to.equal(true)
      expect(refusal(page, status, {}, false)!.wasSent, `${status}`).to.equal(false)
    }
    for (const status of [400, 429, 500, 501, 503, 505, 519, 525, 529, 530]) {
      expect(isOpen(page, status), `${status}`).to.equal(false)
    }
    expect(isOpen(page, 502, {}, false)).to.equal(false)
    expect(isOpen([bodyOf({ message: 'No.' })], 502)).to.equal(false)
    expect(isOpen(['packed'], 502, { 'content-encoding': 'unknown' })).to.equal(true)
  })

  it('has the upstream’s message and parameter', () => {
    const error = refusal([bodyOf({ message: 'Too bright.', param: 'size' })], 400, {
      'retry-after': '3',
    })
    expect(error).to.include({ message: 'Too bright.', param: 'size', retryAfterSeconds: 3 })
  })

  it('is read from pieces, wherever they are cut', () => {
    const text = bodyOf({ message: 'Größe passt nicht.' })
    fc.assert(
      fc.property(fc.nat({ max: Buffer.byteLength(text) }), (at) => {
        const bytes = Buffer.from(text)
        const error = refusal([bytes.subarray(0, at), bytes.subarray(at)])
        expect(error?.message).to.equal('Größe passt nicht.')
      }),
    )
  })

  for (const body of ['', '<html>no</html>', 'null', '[]', '"text"', '{"error":null}', '{"a":1}']) {
    it(`has a message with its status when its body is ${body || 'empty'}`, () => {
      expect(refusal([body], 500)).to.include({ message: 'The provider answered 500.' })
    })
  }

  for (const code of [
    'unsupported_parameter',
    'unsupported_value',
    'unknown_parameter',
    'missing_required_parameter',
  ]) {
    it(`keeps the code ${code}`, () => {
      const error = refusal([bodyOf({ message: 'No.', code, param: 'top_p' })])
      expect(error).to.include({ kind: 'rejected', code, param: 'top_p' })
    })
  }

  it('has no other code of the vendor', () => {
    const error = refusal([bodyOf({ message: 'No.', code: 'invalid_image' })])
    expect(error).to.include({ kind: 'rejected', code: 'invalid_value' })
    const late = refusal([bodyOf({ message: 'No.', code: 'unsupported_value' })], 503)
    expect(late).to.include({ kind: 'overloaded', code: 'provider_error' })
  })

  const tooLong = [
    { code: 'context_length_exceeded', message: 'No.' },
    { type: 'exceed_context_size_error', message: 'No.' },
    { message: "This model's maximum context length is 8192 tokens. However, you requested 9000." },
    { message: "This endpoint's maximum context length is 200000 tokens." },
    { message: "This model's maximum prompt length is 131072 but the request contains 537812." },
    {
      message:
        'Prompt contains 300000 tokens, too large for model with 131072 maximum context length',
    },
    { message: 'Please reduce the length of the messages or completion.' },
    { message: 'the request exceeds the available context size, try increasing it' },
    { message: 'request (9 tokens) exceeds the available context size (4 tokens)' },
    { message: 'tokens to keep from the initial prompt is greater than the context length' },
    { message: "The input (30 tokens) is longer than the model's context length (20 tokens)." },
    { message: 'Invalid request: Your request exceeded model token limit: 262144 (requested: 3)' },
    { message: 'Range of input length should be [1, 98304]' },
    { message: 'prompt too long; exceeded max context length by 4096 tokens' },
    { message: 'Prompt exceeds max length' },
    { message: 'prompt is too long: 213462 tokens > 200000 maximum' },
    { message: 'The input token count (1196265) exceeds the maximum number of tokens allowed.' },
    { message: 'Your input exceeds the context window of this model.' },
    { message: 'Prompt has 256468 tokens, but the configured context size is 256000 tokens' },
    { message: 'Input length 9 exceeds the maximum allowed input length of 4 tokens.' },
    { code: 'model_max_prompt_tokens_exceeded', message: 'prompt token count of 9 exceeds 4' },
    { message: 'prompt token count of 74490 exceeds the limit of 72000' },
    { message: 'invalid params, context window exceeds limit (2013)' },
    { message: 'input length and `max_tokens` exceed context limit: 187254 + 20000 > 204798' },
    { message: 'Total tokens of image and text exceed max message tokens.' },
  ]
  for (const complaint of tooLong) {
    it(`is of the kind context_length when it says ${JSON.stringify(complaint)}`, () => {
      for (const status of [400, 413, 422]) {
        const error = refusal([bodyOf(complaint)], status)
        expect(error).to.include({ kind: 'context_length', code: 'context_length_exceeded' })
      }
    })
  }

  for (const message of [
    'The prompt is required.',
    'max_tokens exceeds the limit of 8192',
    'Request too large: reduce the size of the images.',
    'Rate limit reached: too many tokens a minute.',
  ]) {
    it(`is of another kind when it says ${message}`, () => {
      expect(refusal([bodyOf({ message })])).to.include({ kind: 'rejected' })
    })
  }

  it('is not context_length when the status is 429 or 402', () => {
    const message = 'Please reduce the length of the messages or completion.'
    expect(refusal([bodyOf({ message })], 429)).to.include({ kind: 'rate_limited' })
    expect(refusal([bodyOf({ message })], 402)).to.include({ kind: 'out_of_credit' })
  })

  it('never contains an API key, whatever the message', () => {
    const part = fc.oneof(fc.constantFrom(...secrets), fc.string({ maxLength: 300 }))
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
        const message = refusal([bodyOf({ message: parts.join('') })])!.message
        for (const secret of secrets) {
          expect(message).to.not.include(secret)
        }
        expect(message.length).to.be.at.most(500)
      }),
    )
  })

  it('leaves no part of a key where the message is truncated', () => {
    const { message } = refusal([bodyOf({ message: 'x'.repeat(495) + secrets[0]! })])!
    expect(message).to.not.include('sk-')
  })

  it('is read up to 64 KiB', () => {
    const long = bodyOf({ message: 'x'.repeat(100_000) })
    expect(refusal([long])).to.include({ message: 'The provider answered 400.' })
    const pieces = long.match(/.{1,1000}/g)!
    expect(refusal(pieces)).to.include({ message: 'The provider answered 400.' })
  })
})
