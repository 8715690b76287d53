import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { completion } from '../support/chat-answers.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { callTool, connectClient, textOf } from '../support/mcp-client.ts'
import { hello } from '../support/own-endpoint.ts'
import { pixel } from '../support/pixel.ts'
import { startUpstream, type ReceivedRequest, type Upstream } from '../support/upstream.ts'

type Schemas = components['schemas']

/** The model list of each vendor, in its own format. */
const lists: Record<string, object> = {
  '/openai/models': {
    object: 'list',
    data: ['gpt-4-classic', 'gpt-5-mini', 'both', 'dall-e-9'].map((id) => ({
      id,
      object: 'model',
    })),
  },
  '/anthropic/v1/models?limit=1000': { data: [{ id: 'claude-x' }], has_more: false },
  '/google/v1beta/models?pageSize=1000': { models: [{ name: 'models/gemini-flash-latest' }, {}] },
  '/together/models': [{ id: 'meta-llama/Llama-9' }, { id: 'both' }],
}

describe('the name of a model', () => {
  let upstream: Upstream
  let gateway: TestGateway
  let now = Date.parse('2026-11-22T12:00:00Z')
  before(async () => {
    upstream = await startUpstream()
    const names = ['OPENAI', 'ANTHROPIC', 'GEMINI', 'TOGETHER']
    const folders = ['openai', 'anthropic', 'google', 'together']
    const variables = names.flatMap((name, index) => [
      [`${name}_API_KEY`, 'sk-x'],
      [`${name}_BASE_URL`, `${upstream.url}/${folders[index]}`],
    ])
    gateway = await startGateway({
      clock: () => now,
      variables: Object.fromEntries(variables) as Record<string, string>,
      file: { limits: { cache_ttl_seconds: 0, route_tries_max: 1 } },
    })
  })
  after(async () => {
    await gateway.stop()
    await upstream.stop()
  })
  beforeEach(() => {
    upstream.answer(play)
  })
  const play = ({ method, path, headers }: ReceivedRequest) => {
    if (method === 'GET') {
      const isSigned = path.startsWith('/anthropic')
        ? headers['x-api-key'] === 'sk-x' && headers['anthropic-version'] !== undefined
        : headers.authorization === 'Bearer sk-x' || headers['x-goog-api-key'] === 'sk-x'
      return isSigned ? { body: lists[path] ?? '' } : { status: 401 }
    }
    if (path.endsWith('/images/generations')) {
      return { body: { created: 1, data: [{ b64_json: pixel.split(',')[1] }] } }
    }
    return completion('Hi.')
  }
  const ask = (model: string, key = gateway.liveKey, more: object = {}) =>
    gateway.post('/v1/chat/completions', { model, messages: hello, ...more }, { key })
  const sent = () => upstream.requests.filter(({ method }) => method === 'POST')
  const listed = () => upstream.requests.filter(({ method }) => method === 'GET')

  for (const [name, id, asked, status] of [
    ['openai/gpt-5-mini', 'gpt-5-mini', 'gpt-5-mini', 'exact'],
    ['GPT-5-Mini ', 'gpt-5-mini', 'gpt-5-mini', 'exact'],
    ['gpt-5-mini-2025-08-07', 'gpt-5-mini', 'gpt-5-mini-2025-08-07', 'exact'],
    ['openai/gpt-5-mini-2025-08-07', 'gpt-5-mini', 'gpt-5-mini-2025-08-07', 'exact'],
    ['gpt-5.2-2025-12-11', 'gpt-5.2', 'gpt-5.2-2025-12-11', 'estimated'],
  ] as const) {
    it(`'${name}' is ${id}, sent as ${asked}`, async () => {
      const response = await ask(name)
      const { usage } = (await response.json()) as Schemas['ChatCompletion']
      expect(response.headers.get('x-gateway-model')).to.equal(id)
      expect(sent().map(({ body }) => (body as { model: string }).model)).to.deep.equal([asked])
      expect(usage.cost_status).to.equal(status)
      const row = (await gateway.usage()).find(
        ({ id }) => id === response.headers.get('x-request-id'),
      )
      expect(row).to.include({ model: id, upstream_model: asked, cost_status: status })
    })
  }

  it("may be a vendor's own with a prefix, sent in the format of that vendor", async () => {
    upstream.answer({ status: 400, body: { error: { message: 'Asked.' } } })
    await ask('anthropic/claude-sonnet-4.6')
    await ask('claude-sonnet-4-5-20250929')
    await ask('models/gemini-3.5-flash')
    await ask('gemini/gemini-3.5-flash')
    expect(sent().map(({ path }) => path)).to.deep.equal([
      '/anthropic/v1/messages',
      '/anthropic/v1/messages',
      '/google/v1beta/models/gemini-3.5-flash:generateContent',
      '/google/v1beta/models/gemini-3.5-flash:generateContent',
    ])
    const models = sent().map(({ body }) => (body as { model?: string }).model)
    expect(models.slice(0, 2)).to.deep.equal(['claude-sonnet-4-6', 'claude-sonnet-4-5-20250929'])
  })

  describe('that only a vendor lists', () => {
    for (const [name, id, path] of [
      ['gpt-4-classic', 'openai/gpt-4-classic', '/openai/chat/completions'],
      ['openai/GPT-4-Classic', 'openai/gpt-4-classic', '/openai/chat/completions'],
      ['meta-llama/llama-9', 'together/meta-llama/Llama-9', '/together/chat/completions'],
      ['openai/both', 'openai/both', '/openai/chat/completions'],
    ] as const) {
      it(`is passed on: '${name}' is ${id}, at an unknown price`, async () => {
        const response = await ask(name)
        const { usage } = (await response.json()) as Schemas['ChatCompletion']
        expect(response.headers.get('x-gateway-model')).to.equal(id)
        expect(usage).to.deep.include({ cost: null, cost_status: 'unknown' })
        expect(sent().map((request) => request.path)).to.deep.equal([path])
        const model = id.slice(id.indexOf('/') + 1)
        expect(sent()[0]!.body).to.deep.include({ model })
      })
    }

    it('is looked up at the vendors once, however often it is used', async () => {
      now += 2 * 3_600_000
      await Promise.all(['nobody-1', 'nobody-1', 'nobody-2'].map((name) => ask(name)))
      const paths = listed().map(({ path }) => path)
      expect(paths.sort()).to.deep.equal(Object.keys(lists).sort())
      await ask('gpt-4-classic')
      await ask('nobody-3')
      expect(listed()).to.have.length(4)
    })

    it('is not looked up when the catalog has the model', async () => {
      now += 2 * 3_600_000
      await ask('gpt-5-mini')
      await ask('openai/gpt-5-mini')
      expect(listed()).to.deep.equal([])
    })

    it('is refused with both full names when two vendors have it', async () => {
      const response = await ask('both')
      const { message: text } = await expectError(response, {
        status: 404,
        code: 'model_not_found',
      })
      expect(text).to.contain("'openai/both', 'together/both'")
    })

    it('is described with its owner and no price', async () => {
      const { key } = { key: gateway.liveKey }
      const response = await gateway.fetch('/v1/models/gpt-4-classic', { key })
      const model = (await response.json()) as Schemas['Model']
      expect(model).to.deep.include({ id: 'openai/gpt-4-classic', owned_by: 'openai', pricing: {} })
    })

    it('may be an image model', async () => {
      const body = { model: 'dall-e-9', prompt: 'a fox' }
      const response = await gateway.post('/v1/images/generations', body, { key: gateway.liveKey })
      const { usage } = (await response.json()) as Schemas['ImagesResponse']
      expect(usage).to.deep.include({ cost: null, cost_status: 'unknown' })
      expect(sent().map(({ path }) => path)).to.deep.equal(['/openai/images/generations'])
    })

    it('is unknown to a test key, whatever live keys have used', async () => {
      await ask('gpt-4-classic')
      upstream.requests.length = 0
      await expectError(await ask('gpt-4-classic', gateway.testKey), {
        status: 404,
        code: 'model_not_found',
      })
      expect(upstream.requests).to.deep.equal([])
    })

    it('is unknown while the vendor fails, and found again afterwards', async () => {
      await using fresh = await startGateway({
        clock: () => now,
        variables: { OPENAI_API_KEY: 'sk-x', OPENAI_BASE_URL: `${upstream.url}/openai` },
      })
      const askFresh = () =>
        fresh.post(
          '/v1/chat/completions',
          { model: 'gpt-4-classic', messages: hello },
          { key: fresh.liveKey },
        )
      for (const script of [
        { status: 500 },
        { reset: 'before' as const },
        { body: 'no list' },
        { body: { data: 7 } },
        { body: { data: [{ id: 7 }, null] } },
        { body: { data: [{ id: 'x'.repeat(5_000_000) }] } },
      ]) {
        upstream.answer(script)
        await expectError(await askFresh(), { status: 404, code: 'model_not_found' })
        now += 31_000
      }
      upstream.answer(play)
      expect((await askFresh()).status).to.equal(200)
    })

    it('is looked up no longer than the setting allows', async () => {
      await using hurried = await startGateway({
        variables: { OPENAI_API_KEY: 'sk-x', OPENAI_BASE_URL: `${upstream.url}/openai` },
        bounds: { modelListTimeoutMs: 50 },
      })
      upstream.answer({ hang: true })
      const body = { model: 'gpt-4-classic', messages: hello }
      const begun = performance.now()
      const response = await hurried.post('/v1/chat/completions', body, { key: hurried.liveKey })
      await expectError(response, { status: 404, code: 'model_not_found' })
      expect(performance.now() - begun).to.be.below(2000)
      await upstream.requests[0]!.closed
      expect(upstream.requests[0]!.aborted).to.equal(true)
    })

    it('is never looked up when the setting disables it', async () => {
      await using quiet = await startGateway({
        variables: { OPENAI_API_KEY: 'sk-x', OPENAI_BASE_URL: `${upstream.url}/openai` },
        file: { limits: { model_list_ttl_seconds: 0 } },
      })
      const body = { model: 'gpt-4-classic', messages: hello }
      const response = await quiet.post('/v1/chat/completions', body, { key: quiet.liveKey })
      await expectError(response, { status: 404, code: 'model_not_found' })
      expect(upstream.requests).to.deep.equal([])
    })
  })

  describe('that is misspelled', () => {
    for (const [name, near] of [
      ['gpt5-mini', 'gpt-5-mini'],
      ['claude-sonet-4-6', 'claude-sonnet-4-6'],
      ['qwen-image-puls', 'qwen-image-plus'],
      ['gemini-3-pro-imgae-preview', 'gemini-3-pro-image-preview'],
    ] as const) {
      it(`is refused with a suggestion: ${name} with ${near}`, async () => {
        const response = await ask(name, gateway.testKey)
        const { message: text } = await expectError(response, {
          status: 404,
          code: 'model_not_found',
        })
        expect(text).to.contain(`Did you mean '${near}'?`)
      })
    }

    it('is refused without a suggestion when no name is similar', async () => {
      const response = await ask('my-own-model', gateway.testKey)
      const { message: text } = await expectError(response, {
        status: 404,
        code: 'model_not_found',
      })
      expect(text).not.to.contain('Did you mean')
    })

    it('is refused without suggesting a model that the key may not use', async () => {
      const key = await gateway.createKey('test', { models: ['gpt-5.4'] })
      const { message: text } = await expectError(await ask('gpt5-mini', key), {
        status: 404,
        code: 'model_not_found',
      })
      expect(text).not.to.contain('gpt-5-mini')
    })
  })

  describe('in the list of a key', () => {
    it('may be any alias of the model, and so may the name in a request', async () => {
      for (const listed of ['gpt-5-mini', 'openai/GPT-5-mini', 'gpt-5-mini-2025-08-07']) {
        const key = await gateway.createKey('live', { models: [listed] })
        for (const name of ['gpt-5-mini', 'GPT-5-MINI', 'gpt-5-mini-2025-08-07']) {
          expect((await ask(name, key)).status, `${listed} ${name}`).to.equal(200)
        }
        for (const name of ['gpt-5.2', 'openai/gpt-5.2', 'gpt-5.2-2025-12-11', 'gpt-4-classic']) {
          await expectError(await ask(name, key), { status: 403, code: 'model_not_allowed' })
          const models = { models: [name] }
          await expectError(await ask('gpt-5-mini', key, models), {
            status: 403,
            code: 'model_not_allowed',
          })
        }
      }
    })

    it('may be one that only the vendor lists', async () => {
      const key = await gateway.createKey('live', { models: ['openai/gpt-4-classic'] })
      expect((await ask('gpt-4-classic', key)).status).to.equal(200)
    })
  })

  it('applies to the tools as well', async () => {
    const client = await connectClient(gateway, gateway.liveKey)
    const call = (model: string) => callTool(client, 'chat', { model, messages: hello })
    expect(textOf(await call('OpenAI/gpt-5-mini'))).to.contain('gpt-5-mini, ')
    expect(textOf(await call('gpt-4-classic'))).to.contain('openai/gpt-4-classic, ')
    const wrong = await call('gpt5-mini')
    expect(wrong.isError).to.equal(true)
    expect(textOf(wrong)).to.contain("Did you mean 'gpt-5-mini'?")
    await client.close()
  })
})
