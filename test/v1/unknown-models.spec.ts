import { expect } from 'chai'
import { completion } from '../support/chat-answers.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { hello } from '../support/own-endpoint.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

const flood = 200

describe('model names that no catalog has', () => {
  let upstream: Upstream
  let gateway: TestGateway
  beforeEach(async () => {
    upstream = await startUpstream()
    const vendors = ['OPENAI', 'GROQ', 'MISTRAL']
    const variables = vendors.flatMap((name): [string, string][] => [
      [`${name}_API_KEY`, 'key-0123456789'],
      [`${name}_BASE_URL`, `${upstream.url}/${name.toLowerCase()}`],
    ])
    gateway = await startGateway({ variables: Object.fromEntries(variables) })
    upstream.answer(({ path }) =>
      path.endsWith('/models') ? { body: { data: [{ id: 'both-have-it' }] } } : completion('Hi.'),
    )
  })
  afterEach(async () => {
    await gateway.stop()
    await upstream.stop()
  })
  const ask = (body: object, key = gateway.liveKey) =>
    gateway.post('/v1/chat/completions', { messages: hello, ...body }, { key })
  const listsRead = () => upstream.requests.filter(({ path }) => path.endsWith('/models')).length

  it('cause one request to each vendor, however many names are used', async () => {
    const asked = Array.from({ length: flood }, (_, index) => [
      ask({ model: `unheard-of-${index}` }),
      gateway.fetch(`/v1/models/unheard-of-${index}`, { key: gateway.liveKey }),
    ])
    for (const response of await Promise.all(asked.flat())) {
      await expectError(response, { status: 404, code: 'model_not_found' })
    }
    expect(listsRead()).to.equal(3)
  })

  it('cause one request to each vendor per interval while the vendors fail', async () => {
    upstream.answer({ status: 500 })
    for (let index = 0; index < 20; index++) {
      const response = await ask({ model: `unheard-of-${index}` })
      await expectError(response, { status: 404, code: 'model_not_found' })
    }
    expect(listsRead()).to.equal(3)
  })

  it('reveal to a key no provider that it may not use', async () => {
    const messageFor = async (models: string[] | undefined, body: object, param = 'model') => {
      const key = await gateway.createKey('live', models === undefined ? {} : { models })
      const expected = { status: 404, code: 'model_not_found', param }
      return (await expectError(await ask(body, key), expected)).message
    }
    const body = { model: 'both-have-it' }
    expect(await messageFor(undefined, body))
      .to.contain("'groq/")
      .and.contain("'mistral/")
    const two = await messageFor(['groq/both-have-it', 'openai/both-have-it'], body)
    expect(two).to.contain('Choose one:').and.not.contain('mistral')
    const one = await messageFor(['groq/both-have-it'], body)
    expect(one)
      .to.contain("Did you mean 'groq/both-have-it'?")
      .and.not.match(/mistral|openai/)
    const none = await messageFor(['gpt-4.1'], body)
    expect(none).to.not.match(/mistral|openai|groq/)
    const fallback = { model: 'gpt-4.1', models: ['both-have-it'] }
    const fallen = await messageFor(['gpt-4.1'], fallback, 'models[0]')
    expect(fallen).to.not.match(/mistral|openai|groq/)
  })
})
