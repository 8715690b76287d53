import { expect } from 'chai'
import type OpenAI from 'openai'
import type { Body } from '../../support/closed-chat/schema.ts'
import { checkSent } from '../../support/closed-chat/vendors.ts'
import { expectError } from '../../support/expect-error.ts'
import { startGateway, type TestGateway } from '../../support/gateway.ts'
import { openAiClient } from '../../support/openai-client.ts'
import { hello } from '../../support/own-endpoint.ts'
import { eventText } from '../../support/image-doubles/openai.ts'
import { paint } from '../../support/image-doubles/paint.ts'
import { pixelFile } from '../../support/pixel.ts'
import { responseEvents, responseObject } from '../../support/responses-upstream.ts'
import { Refused, vendorDouble, type Spoken } from '../../support/spoken.ts'
import { startUpstream, type ReceivedRequest, type Upstream } from '../../support/upstream.ts'

const key = '0123456789abcdef0123456789abcdef'
/** The catalog's model of each deployment, whose name says nothing about it. */
const deployments: Readonly<Record<string, string>> = {
  'prod-1': 'gpt-5.6-terra',
  'prod-2': 'gpt-4.1',
  'prod-3': 'text-embedding-3-small',
  'prod-4': 'gpt-image-1.5',
  'not-deployed': 'gpt-5.2',
}
const spoken: Spoken = { text: ['A ', 'fox.'] }
const usage = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 }
const mild = { hate: { filtered: false, severity: 'safe' } }
const filters = { prompt_filter_results: [{ prompt_index: 0, content_filter_results: mild }] }
const identity = { id: 'chatcmpl-az', created: 1_767_225_600, model: 'gpt-5.6-terra-2026-07-30' }
const picture = (await paint({ width: 1024, height: 1024, format: 'png', number: 1 })).toString(
  'base64',
)
const blocked = {
  message: 'The response was filtered due to the prompt triggering the content policy.',
  type: null,
  param: 'prompt',
  code: 'content_filter',
  status: 400,
  innererror: {
    code: 'ResponsibleAIPolicyViolation',
    content_filter_result: { hate: { filtered: true, severity: 'high' } },
  },
}

/** Checks a request as Azure's v1 API does: the header, the path, the deployment and the fields. */
function check({ path, method, headers, body }: ReceivedRequest): void {
  if (headers['api-key'] !== key || headers.authorization !== undefined) {
    throw new Refused(401, '401', 'Access denied due to invalid subscription key.')
  }
  if (method !== 'POST' || !path.startsWith('/openai/v1/')) throw new Refused(404, '404', path)
  if (path.includes('/images/')) checkPictures(streamingOf(body))
  if (typeof body === 'string') return
  const { model, ...rest } = body as Body
  const name = deployments[String(model)]
  if (name === undefined || model === 'not-deployed') {
    throw new Refused(404, 'DeploymentNotFound', 'The API deployment does not exist.')
  }
  if ('messages' in rest || 'input' in rest) {
    // The limits are those of the deployed model.
    if (!path.endsWith('/embeddings')) checkSent('openai', { ...rest, model: name })
  }
}

/** The members of a request for pictures that are about its stream, also of a form. */
function streamingOf(body: unknown): Body {
  if (typeof body !== 'string') return body as Body
  const field = (name: string) =>
    new RegExp(`name="${name}"\r\n\r\n([^\r]*)\r\n`).exec(body)?.[1] ?? 'null'
  return Object.fromEntries(
    ['stream', 'partial_images'].map((name) => [name, JSON.parse(field(name))]),
  )
}

function checkPictures({ stream, partial_images: partials, n }: Body): void {
  const wrong = (param: string) => new Refused(400, 'invalid_value', `Invalid '${param}'.`)
  if (![true, false, null, undefined].includes(stream as boolean)) throw wrong('stream')
  if ((partials ?? null) === null) return
  if (stream !== true || ![0, 1, 2, 3].includes(partials as number)) throw wrong('partial_images')
  if (Number(n ?? 1) > 1) throw wrong('n')
}

/** The events of Azure have the results of its content filter beside OpenAI's members. */
function pictureEvents(kind: string, partials: number): string[] {
  const about = { created_at: 1, size: '1024x1024', quality: 'medium', background: 'opaque' }
  const members = { ...about, output_format: 'png', b64_json: picture, ...filters }
  const counts = { input_tokens: 10, output_tokens: 100 * (1 + partials) }
  return [
    ...Array.from({ length: partials }, (_, partial_image_index) =>
      eventText(`${kind}.partial_image`, { ...members, partial_image_index }),
    ),
    eventText(`${kind}.completed`, { ...members, usage: { ...counts, total_tokens: 0 } }),
  ]
}

function answer({ path, body }: ReceivedRequest) {
  const asked = body as Body
  if (path.endsWith('/responses')) {
    return asked['stream'] === true
      ? { pieces: responseEvents(spoken, asked) }
      : { body: responseObject(spoken, asked) }
  }
  if (path.endsWith('/embeddings')) {
    const data = [{ object: 'embedding', index: 0, embedding: Array(1536).fill(0.5) }]
    return { body: { object: 'list', data, usage: { prompt_tokens: 10, total_tokens: 10 } } }
  }
  if (path.includes('/images/')) {
    const { stream, partial_images: partials } = streamingOf(body)
    if (stream === true) {
      const kind = path.endsWith('/edits') ? 'image_edit' : 'image_generation'
      const headers = { 'content-type': 'text/event-stream; charset=utf-8' }
      return { headers, pieces: pictureEvents(kind, Number(partials ?? 0)) }
    }
    return { body: { created: 1, data: [{ b64_json: picture, content_filter_results: mild }] } }
  }
  const choice = (members: object) => ({ index: 0, content_filter_results: mild, ...members })
  if (asked['stream'] !== true) {
    const message = { role: 'assistant', content: 'A fox.' }
    const choices = [choice({ message, finish_reason: 'stop' })]
    return { body: { ...identity, ...filters, object: 'chat.completion', choices, usage } }
  }
  const event = (members: object) =>
    `data: ${JSON.stringify({ ...identity, object: 'chat.completion.chunk', ...members })}\n\n`
  return {
    pieces: [
      event({ id: '', created: 0, model: '', object: '', choices: [], ...filters }),
      event({ choices: [choice({ delta: { role: 'assistant', content: 'A ' } })] }),
      event({ choices: [choice({ delta: { content: 'fox.' } })] }),
      event({ choices: [choice({ delta: {}, finish_reason: 'stop' })] }),
      event({ choices: [], usage }),
      'data: [DONE]\n\n',
    ],
  }
}

const double = vendorDouble({
  check,
  refusal: ({ type, message }) => ({ error: { code: type, message } }),
  answer,
})

describe('Azure OpenAI', () => {
  let upstream: Upstream
  let gateway: TestGateway
  let client: OpenAI
  before(async () => {
    upstream = await startUpstream()
    const routes = Object.entries(deployments).map(([name, model]) => [model, [`azure/${name}`]])
    gateway = await startGateway({
      variables: {
        AZURE_OPENAI_API_KEY: key,
        AZURE_OPENAI_BASE_URL: `${upstream.url}/openai/v1`,
      },
      file: {
        routes: Object.fromEntries(routes) as object,
        limits: { cache_ttl_seconds: 0, route_tries_max: 1 },
      },
      bounds: { circuitFailuresMax: 1000 },
    })
    client = openAiClient(gateway, gateway.liveKey)
  })
  beforeEach(() => upstream.answer(double))
  after(async () => {
    await gateway.stop()
    await upstream.stop()
  })
  const lastSent = () => upstream.requests.at(-1)!
  const lastRow = async () => (await gateway.usage()).at(-1)!

  it('serves a model of the catalog from a deployment, at the price of the model', async () => {
    const asked = { model: 'gpt-4.1', messages: hello }
    const { choices } = await client.chat.completions.create(asked)
    expect(choices[0]!.message.content).to.equal('A fox.')
    expect(lastSent().body).to.include({ model: 'prod-2' })
    // 1000 input tokens at $2 and 100 output tokens at $8 a million.
    expect(await lastRow()).to.include({
      model: 'gpt-4.1',
      provider: 'azure',
      upstream_model: 'prod-2',
      cost_nano_usd: 1000 * 2000 + 100 * 8000,
      cost_status: 'exact',
    })
  })

  it('serves a deployment that has the name of its model, without a route', async () => {
    const name = 'azure/gpt-4.1'
    upstream.answer((request) => answer(request))
    await client.chat.completions.create({ model: name, messages: hello })
    expect(lastSent().body).to.include({ model: 'gpt-4.1' })
    const cost = { cost_nano_usd: 1000 * 2000 + 100 * 8000, cost_status: 'exact' }
    expect(await lastRow()).to.include({ model: name, provider: 'azure', ...cost })
  })

  it('streams, without the results of the content filter before the text', async () => {
    const asked = { model: 'gpt-4.1', messages: hello, stream: true as const }
    const stream = await client.chat.completions.create(asked)
    const chunks: OpenAI.ChatCompletionChunk[] = []
    for await (const one of stream) chunks.push(one)
    const deltas = chunks.map(({ choices }) => choices[0]?.delta.content ?? '')
    expect(deltas.join('')).to.equal('A fox.')
    expect(chunks.every(({ id, choices }) => id === identity.id && choices.length > 0)).to.equal(
      true,
    )
  })

  it('has the abilities of the model, not of the name of its deployment', async () => {
    const { warnings } = (await client.chat.completions.create({
      model: 'gpt-5.6-terra',
      messages: hello,
      max_tokens: 100,
      stop: ['.'],
    })) as OpenAI.ChatCompletion & { warnings: { param: string }[] }
    expect(warnings.map(({ param }) => param)).to.deep.equal(['stop'])
    expect(lastSent().body).to.include({ max_completion_tokens: 100 })
  })

  it('calls its Responses API for tools that the chat API would refuse, whole and streamed', async () => {
    const tools = [{ type: 'function' as const, function: { name: 'look' } }]
    const asked = { model: 'gpt-5.6-terra', messages: hello, tools }
    const { choices } = await client.chat.completions.create(asked)
    expect(choices[0]!.message.content).to.equal('A fox.')
    expect(lastSent().path).to.equal('/openai/v1/responses')
    let text = ''
    const stream = await client.chat.completions.create({ ...asked, stream: true })
    for await (const one of stream) text += one.choices[0]?.delta.content ?? ''
    expect(text).to.equal('A fox.')
  })

  it('makes embeddings, pictures and edits of pictures', async () => {
    const { data } = await client.embeddings.create({
      model: 'text-embedding-3-small',
      input: 'fox',
      encoding_format: 'float',
    })
    expect(data[0]!.embedding).to.have.length(1536)
    const prompt = 'A fox'
    const made = await client.images.generate({ model: 'gpt-image-1.5', prompt })
    expect(made.data![0]!.b64_json).to.equal(picture)
    await client.images.edit({ model: 'gpt-image-1.5', prompt, image: pixelFile })
    expect(lastSent().path).to.equal('/openai/v1/images/edits')
    expect(lastSent().headers['content-type']).to.match(/^multipart\/form-data/)
  })

  it('streams partial pictures, of a prompt and of an edit, which it counts', async () => {
    const asked = {
      model: 'gpt-image-1.5',
      prompt: 'A fox',
      stream: true,
      partial_images: 2,
    } as const
    const [made, edited] = [
      await client.images.generate(asked),
      await client.images.edit({ ...asked, image: pixelFile }),
    ]
    for (const [stream, kind] of [
      [made, 'image_generation'],
      [edited, 'image_edit'],
    ] as const) {
      const events: (OpenAI.ImageGenStreamEvent | OpenAI.ImageEditStreamEvent)[] = []
      for await (const one of stream) events.push(one)
      const partial = `${kind}.partial_image`
      expect(events.map(({ type }) => type)).to.deep.equal([partial, partial, `${kind}.completed`])
      expect(events.map(({ b64_json }) => b64_json)).to.deep.equal(Array(3).fill(picture))
      // 10 input tokens at $5 and 300 output tokens at $32 a million.
      const cost = { cost_nano_usd: 10 * 5000 + 300 * 32_000, cost_status: 'exact' }
      expect(await lastRow()).to.include({ provider: 'azure', outcome: 'ok', ...cost })
    }
    expect(lastSent().headers['content-type']).to.match(/^multipart\/form-data/)
    const [whole] = (await client.images.generate({ ...asked, stream: false, partial_images: 0 }))
      .data!
    expect(whole!.b64_json).to.equal(picture)
    expect(lastSent().body).to.not.include.keys('stream', 'partial_images')
  })

  const ask = (model: string) =>
    gateway.post('/v1/chat/completions', { model, messages: hello }, { key: gateway.liveKey })

  it('reports a prompt that the content filter stops as such, in Azure’s words', async () => {
    upstream.answer({ status: 400, body: { error: blocked } })
    const error = await expectError(await ask('gpt-4.1'), {
      status: 400,
      code: 'content_policy_violation',
    })
    expect(error.message).to.contain('triggering the content policy')
  })

  it('reports a missing deployment and a rejected key', async () => {
    await expectError(await ask('gpt-5.2'), { status: 404, code: 'model_not_found' })
    await expectError(await ask('azure/none-such'), { status: 404, code: 'model_not_found' })
    upstream.answer({ status: 401, body: { error: { code: '401', message: 'Access denied.' } } })
    await expectError(await ask('gpt-4.1'), { status: 502, code: 'provider_error' })
  })
})
