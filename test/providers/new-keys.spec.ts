import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { openAiKey } from '../support/openai-upstream.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

type ProviderKey = components['schemas']['ProviderKey']

describe('new keys of providers', () => {
  let vendor: Upstream
  let gateway: TestGateway
  before(async () => {
    vendor = await startUpstream()
    const variables = { OPENAI_BASE_URL: vendor.url, XAI_BASE_URL: vendor.url }
    gateway = await startGateway({ variables })
  })
  beforeEach(() => gateway.db.deleteFrom('provider_keys').execute())
  after(async () => {
    await gateway.stop()
    await vendor.stop()
  })

  const add = (body: object, provider = 'openai') =>
    gateway.post(`/api/providers/${provider}/keys`, body, { key: gateway.adminKey })
  const stored = () => gateway.db.selectFrom('provider_keys').select('hint').execute()

  it('are not stored if the vendor rejects them, unless forced', async () => {
    const wrong = 'sk-proj-this-is-not-accepted'
    const quoted = 'Incorrect API key provided: sk-proj-****pted.'
    vendor.answer({ status: 401, body: { error: { code: 'invalid_api_key', message: quoted } } })
    const refusal = { status: 400, code: 'provider_key_rejected', param: 'key' } as const
    const { message } = await expectError(await add({ key: wrong }), refusal)
    expect(message).to.match(/^OpenAI rejects the key \(HTTP 401\): Incorrect API key.*not stored/)
    expect(message).not.to.include('accepted')
    expect(await stored()).to.have.length(0)
    const { test: tested } = (await (await add({ key: wrong, force: true })).json()) as ProviderKey
    expect(tested).to.include({ accepted: false, rejected: true })
  })

  const untested: [name: string, answer: Parameters<Upstream['answer']>[0], says: RegExp][] = [
    ['is away', { status: 503, body: 'busy' }, /answered HTTP 503.*could not be tested: busy\.$/],
    ['limits requests', { status: 429, body: {} }, /answered HTTP 429.*could not be tested\.$/],
    [
      // microsoft/PowerToys#32989: a restricted key may call models without being able to list them.
      'restricts the key',
      { status: 401, body: { error: { message: 'Missing scopes: api.model.read.' } } },
      /answered HTTP 401.*Missing scopes: api\.model\.read\.$/,
    ],
  ]
  for (const [name, answer, says] of untested) {
    it(`are stored when the vendor ${name}, so that they can be tested later`, async () => {
      vendor.answer(answer)
      const response = await add({ key: openAiKey })
      expect(response.status).to.equal(201)
      const { test: tested } = (await response.json()) as ProviderKey
      expect(tested).to.include({ accepted: false, rejected: false })
      expect(tested!.message).to.match(says)
    })
  }

  it('are rejected by a 400 of a vendor that has no other status for it', async () => {
    // continuedev/continue#10778
    const error =
      'Incorrect API key provided: xa***23. You can obtain an API key from https://console.x.ai.'
    vendor.answer({ status: 400, body: { code: 'Client specified an invalid argument', error } })
    const body = { key: 'xai-0123456789abcdef0123' }
    const response = await add(body, 'xai')
    const refusal = { status: 400, code: 'provider_key_rejected', param: 'key' } as const
    expect((await expectError(response, refusal)).message).to.match(
      /^xAI rejects the key \(HTTP 400\)/,
    )
  })
})
