import { expect } from 'chai'

type ErrorBody = {
  message: string
  type: string
  param: string | null
  code: string | null
  request_id: string
}
type Expected = { status: number; code: string; type?: string; param?: string | null }

/**
 * Checks an error answer (docs/behaviour.md#errors), and returns its members.
 *
 * @example
 * const response = await gateway.post('/v1/images/generations', { prompt: 'A fox', n: 11 })
 * await expectError(response, { status: 400, code: 'invalid_value', param: 'n' })
 */
export async function expectError(
  response: Response,
  { status, code, type, param }: Expected,
): Promise<ErrorBody> {
  const text = await response.text()
  expect(response.status, text).to.equal(status)
  expect(response.headers.get('content-type')).to.equal('application/json')
  expect(response.headers.get('x-request-id')).to.match(/^req_[0-9a-f]{32}$/)
  const body = JSON.parse(text) as { error: ErrorBody }
  expect(Object.keys(body)).to.deep.equal(['error'])
  expect(Object.keys(body.error)).to.have.members([
    'message',
    'type',
    'param',
    'code',
    'request_id',
  ])
  expect(body.error.request_id).to.equal(response.headers.get('x-request-id'))
  expect(body.error.code).to.equal(code)
  expect(body.error.message).to.be.a('string').that.is.not.empty
  if (type !== undefined) expect(body.error.type).to.equal(type)
  if (param !== undefined) expect(body.error.param).to.equal(param)
  return body.error
}
