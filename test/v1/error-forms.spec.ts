import { expect } from 'chai'
import { startEveryVendor, type EveryVendor } from '../support/every-vendor.ts'
import { expectError } from '../support/expect-error.ts'
import type { ScriptedAnswer } from '../support/upstream.ts'

type Row = {
  name: string
  model?: string
  answer: ScriptedAnswer
  code?: string
  status?: number
  param?: string | null
  /** The error that the caller receives. */
  message?: string
}

const list = (...detail: object[]) => ({ detail })
const extra = {
  type: 'extra_forbidden',
  loc: ['body', 'verbosity'],
  msg: 'Extra inputs are not permitted',
  input: 1,
}
const missing = { type: 'missing', loc: ['body', 'messages', 0, 'content'], msg: 'Field required' }
const refused = (body: object | string, status = 400): ScriptedAnswer => ({ status, body })

const rows: Row[] = [
  {
    name: "OpenAI's format, with its code and its parameter",
    answer: refused({
      error: {
        message: "Unsupported parameter: 'max_tokens' is not supported with this model.",
        type: 'invalid_request_error',
        param: 'max_tokens',
        code: 'unsupported_parameter',
      },
    }),
    code: 'unsupported_parameter',
    param: 'max_tokens',
    message: "Unsupported parameter: 'max_tokens' is not supported with this model.",
  },
  {
    name: 'a list of errors',
    answer: refused([{ error: { message: 'Bad top_p.', code: 400, status: 'INVALID' } }] as object),
    message: 'Bad top_p.',
  },
  { name: 'a text in `detail`', answer: refused({ detail: 'Bad top_p.' }), message: 'Bad top_p.' },
  {
    name: 'a list in `detail`',
    answer: refused(list(extra, missing), 422),
    code: 'unknown_parameter',
    param: 'verbosity',
    message: 'verbosity: Extra inputs are not permitted; messages[0].content: Field required',
  },
  {
    name: 'a list in `detail` of `message`',
    model: 'mistral/mistral-medium-latest',
    answer: refused(
      {
        object: 'error',
        message: list(missing),
        type: 'invalid_request_error',
        param: null,
        code: '1000',
      },
      422,
    ),
    code: 'missing_required_parameter',
    param: 'messages[0].content',
    message: 'messages[0].content: Field required',
  },
  {
    name: 'a flat error with a numeric code',
    answer: refused({
      object: 'error',
      message: 'Bad top_p.',
      type: 'BadRequestError',
      param: null,
      code: 400,
    }),
    message: 'Bad top_p.',
  },
  {
    name: 'a text in `error`',
    model: 'xai/grok-4.3',
    answer: refused({
      code: 'Client specified an invalid argument',
      error: 'Argument not supported on this model: stop',
    }),
    message: 'Argument not supported on this model: stop',
  },
  {
    name: 'JSON in a text',
    answer: refused({
      error: {
        message: '{"error":{"message":"Bad top_p.","code":"unsupported_value","param":"top_p"}}',
      },
    }),
    code: 'unsupported_value',
    param: 'top_p',
    message: 'Bad top_p.',
  },
  {
    name: "an aggregator's error that wraps a vendor's",
    model: 'openrouter/some/model',
    answer: refused({
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: {
          provider_name: 'Some',
          raw: '{"error":{"message":"top_k is too large.","code":"unsupported_value"}}',
        },
      },
    }),
    code: 'unsupported_value',
    message: 'Provider returned error: top_k is too large.',
  },
  { name: 'plain text', answer: refused('Bad top_p.\n'), message: 'Bad top_p.' },
  {
    name: 'an HTML page',
    answer: refused(
      '<html><head><title>400 Bad &amp; sad</title></head><body><h1>nginx at /srv/app</h1></body></html>',
    ),
    message: '400 Bad & sad',
  },
  { name: 'an empty body', answer: refused(''), message: 'The provider answered 400.' },
  {
    name: 'an empty list',
    answer: refused([] as object),
    message: 'The provider answered 400.',
  },
  {
    name: 'a list of several errors',
    answer: refused({
      success: false,
      errors: [{ code: 7003, message: 'No route.' }, { message: 'No.' }],
    }),
    message: 'No route.; No.',
  },
  {
    name: 'a parameter that the request does not have',
    answer: refused({ error: { message: 'Bad.', param: 'Contents[0]/parts' } }),
    param: null,
    message: 'Bad.',
  },
  {
    name: 'a text about a conversation that is too long',
    answer: refused({
      error: {
        message: "This model's maximum context length is 8192 tokens.",
        type: 'BadRequestError',
        code: 400,
      },
    }),
    code: 'context_length_exceeded',
    message: "This model's maximum context length is 8192 tokens.",
  },
  {
    name: 'a numeric code for a conversation that is too long',
    model: 'zai/glm-5',
    answer: refused({ error: { code: '1261', message: 'Prompt 超长' } }),
    code: 'context_length_exceeded',
  },
  {
    name: 'an empty account as a 429',
    model: 'zai/glm-5',
    answer: refused({ error: { code: '1113', message: 'Insufficient balance' } }, 429),
    status: 502,
    code: 'provider_error',
    message:
      'The provider of this model failed (out_of_credit). Try again, or choose another model.',
  },
  {
    name: 'an overdue account as a 403',
    model: 'bytedance/seed-2-0-pro',
    answer: refused({ error: { code: 'AccountOverdueError', message: 'Overdue.' } }, 403),
    status: 502,
    code: 'provider_error',
    message:
      'The provider of this model failed (out_of_credit). Try again, or choose another model.',
  },
  {
    name: 'a content scan that found unsafe content',
    model: 'alibaba/qwen3.8-max',
    answer: refused({ error: { code: 'DataInspectionFailed', message: 'Unsafe.' } }),
    code: 'content_policy_violation',
    message: 'Unsafe.',
  },
  {
    name: 'a server error in a 200',
    answer: {
      body: { error: { message: 'Upstream at http://10.0.0.7:8000 is gone.', code: 502 } },
    },
    status: 502,
    code: 'provider_error',
    message:
      'The provider of this model failed (overloaded). It said: Upstream at [address] is gone. Try again, or choose another model.',
  },
  {
    name: "the caller's error in a 200",
    answer: {
      body: { object: 'error', message: 'Bad top_p.', type: 'BadRequestError', code: 400 },
    },
    message: 'Bad top_p.',
  },
]

describe("the reason in a vendor's error", () => {
  let house: EveryVendor
  before(async () => {
    house = await startEveryVendor()
  })
  after(() => house.stop())

  for (const row of rows) {
    const {
      name,
      model = 'own/house',
      answer,
      message,
      status = 400,
      code = 'invalid_value',
      ...rest
    } = row
    for (const stream of [false, true]) {
      it(`is passed on from ${name}${stream ? ', asked for a stream' : ''}`, async () => {
        house.upstream.answer(answer)
        const error = await expectError(await house.ask(model, stream), { status, code, ...rest })
        if (message !== undefined) expect(error.message).to.equal(message)
      })
    }
  }
})
