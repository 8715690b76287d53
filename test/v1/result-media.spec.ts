import { expect } from 'chai'
import type Anthropic from '@anthropic-ai/sdk'
import type OpenAI from 'openai'
import { anthropicClient } from '../support/anthropic-client.ts'
import { chatVendors, type ChatVendor } from '../support/chat-vendors.ts'
import { pdf } from '../support/chat-wire.ts'
import { checkSent } from '../support/closed-chat/vendors.ts'
import { expectError } from '../support/expect-error.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { openAiClient } from '../support/openai-client.ts'
import { openAiKey } from '../support/openai-upstream.ts'
import { anthropicKey } from '../support/anthropic-upstream.ts'
import { geminiKey } from '../support/gemini-upstream.ts'
import { pixel } from '../support/pixel.ts'
import { resultRequests as requests } from '../support/result-requests.ts'
import { Refused } from '../support/spoken.ts'
import { startUpstream, type ReceivedRequest, type Upstream } from '../support/upstream.ts'

type Body = Record<string, unknown>
type Warned = { warnings?: { param: string; requested: unknown; applied: string }[] }

const blind = 'deepseek/deepseek-v4-pro'
const said = { role: 'assistant', content: 'A dot.' }
const [pngData, pdfData] = [pixel.split(',')[1]!, pdf.split(',')[1]!]

/** DeepSeek, which has no variant of a content part but text for this model. */
const deepseek = ({ body }: ReceivedRequest) => {
  try {
    checkSent('deepseek', body as Body)
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return { status: 400, body: { error: { message: error.message, type: error.type } } }
  }
  const usage = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 }
  const choices = [{ index: 0, message: said, finish_reason: 'stop' }]
  return { body: { id: 'a', object: 'chat.completion', created: 1, model: 'v4', choices, usage } }
}

describe('a picture or document in the result of a tool', () => {
  let upstreams: Record<ChatVendor['id'] | 'deepseek', Upstream>
  let gateway: TestGateway
  before(async () => {
    const names = ['openai', 'anthropic', 'google', 'deepseek'] as const
    const started = await Promise.all(names.map(async (id) => [id, await startUpstream()] as const))
    upstreams = Object.fromEntries(started) as typeof upstreams
    gateway = await startGateway({
      variables: {
        OPENAI_API_KEY: openAiKey,
        OPENAI_BASE_URL: upstreams.openai.url,
        ANTHROPIC_API_KEY: anthropicKey,
        ANTHROPIC_BASE_URL: upstreams.anthropic.url,
        GEMINI_API_KEY: geminiKey,
        GEMINI_BASE_URL: upstreams.google.url,
        DEEPSEEK_API_KEY: 'sk-0123456789abcdef',
        DEEPSEEK_BASE_URL: upstreams.deepseek.url,
      },
      file: { limits: { cache_ttl_seconds: 0, route_tries_max: 1 } },
    })
  })
  beforeEach(() => {
    upstreams.deepseek.answer(deepseek)
    for (const { id, double } of chatVendors)
      upstreams[id].answer(double(() => ({ text: ['A dot.'] })))
  })
  after(async () => {
    await gateway.stop()
    await Promise.all(Object.values(upstreams).map((one) => one.stop()))
  })
  const post = (api: string, model: string, body: object, headers: Record<string, string> = {}) =>
    gateway.post(requests[api]!.path, { model, ...body }, { key: gateway.liveKey, headers })
  const answered = async (response: Response) => {
    const text = await response.text()
    expect(response.status, text).to.equal(200)
    return JSON.parse(text) as Warned
  }
  const sentTo = (id: keyof typeof upstreams) => JSON.stringify(upstreams[id].requests.at(-1)!.body)

  for (const [api, { param, body }] of Object.entries(requests)) {
    for (const [file, type, words] of [
      [
        'picture',
        'image_url',
        'a picture that is not shown here: deepseek/deepseek-v4-pro does not',
      ],
      ['document', 'file', 'a document that is not shown here: deepseek/deepseek-v4-pro does not'],
    ] as const) {
      it(`becomes a text for a model that reads only text, with a warning: a ${file} in ${api}`, async () => {
        const { warnings = [] } = await answered(await post(api, blind, body(file)))
        expect(warnings).to.have.length(1)
        expect(warnings[0]).to.deep.include({ param, requested: type })
        expect(warnings[0]!.applied).to.contain(words)
        expect(sentTo('deepseek'))
          .to.contain(words)
          .and.contain('The file:')
          .and.not.contain('base64')
      })
    }

    it(`is refused by name in strict mode: ${api}`, async () => {
      const response = await post(api, blind, body('picture'), { 'x-gateway-strict': 'true' })
      const { error } = (await response.json()) as { error: Body & { details?: Body } }
      expect(response.status).to.equal(400)
      expect((error.details ?? error)['param']).to.equal(param)
      expect(error['message']).to.contain('does not accept images')
      expect(upstreams.deepseek.requests).to.have.length(0)
    })

    it(`becomes a text if it is broken, whatever the model: ${api}`, async () => {
      for (const { id, model } of chatVendors) {
        const { warnings = [] } = await answered(await post(api, model, body('broken')))
        expect(warnings.map((one) => one.param)).to.include(param)
        expect(sentTo(id)).to.contain('a picture that is not shown here: This is not a PNG')
      }
    })

    it(`reaches the models that read it: ${api}`, async () => {
      for (const { id, model } of chatVendors) {
        for (const [file, data] of [
          ['picture', pngData],
          ['document', pdfData],
        ] as const) {
          const { warnings } = await answered(await post(api, model, body(file)))
          expect(sentTo(id)).to.contain(data)
          expect(JSON.stringify(warnings ?? [])).to.not.match(/image_url|"file"/)
        }
      }
    })
  }

  it('stays in the result for Anthropic and Google, and follows it for other vendors', async () => {
    for (const { id, model } of chatVendors) {
      await answered(await post('chat', model, requests['chat']!.body('picture')))
      const { messages, contents } = upstreams[id].requests.at(-1)!.body as Record<string, Body[]>
      const last = (messages ?? contents)!.at(-1)!
      const place =
        id === 'google' ? 'functionResponse' : id === 'anthropic' ? 'tool_result' : 'user'
      expect(JSON.stringify(last)).to.contain(pngData).and.contain(place)
      if (id === 'openai') expect(messages!.at(-2)).to.include({ role: 'tool' })
    }
  })

  it('follows the last of several results, whose params are those of the request', async () => {
    const { messages, tools } = requests['chat']!.body('picture') as {
      messages: Body[]
      tools: unknown
    }
    const [ask, call, result] = messages
    const second = { id: 'c2', type: 'function', function: { name: 'Read', arguments: '{}' } }
    const calls = [...((call!['tool_calls'] as Body[]) ?? []), second]
    const low = { type: 'image_url', image_url: { url: pixel, detail: 'low', hue: 'red' } }
    const all = [
      ask,
      { ...call, tool_calls: calls },
      result,
      { ...result, tool_call_id: 'c2', content: [low] },
      { role: 'user', content: 'And now?', mood: 'good' },
    ]
    const { warnings = [] } = await answered(
      await post('chat', 'gpt-4.1', { messages: all, tools }),
    )
    expect(warnings.map(({ param }) => param)).to.deep.equal([
      'messages[3].content[0].image_url.hue',
      'messages[4].mood',
    ])
    const { messages: sent } = upstreams.openai.requests.at(-1)!.body as { messages: Body[] }
    expect(sent.map(({ role }) => role)).to.deep.equal([
      'user',
      'assistant',
      'tool',
      'tool',
      'user',
      'user',
    ])
    const titles = (sent[4]!['content'] as Body[]).flatMap(({ text }) => text ?? [])
    expect(titles).to.deep.equal(['Output of the tool call c1:', 'Output of the tool call c2:'])
  })

  it('becomes a text if only the vendor of the model refuses its form', async () => {
    const gif = `data:image/gif;base64,${Buffer.from('GIF89a\x10\0\x10\0\0\0\0').toString('base64')}`
    const { messages, tools } = requests['chat']!.body('picture') as {
      messages: Body[]
      tools: unknown
    }
    const content = [
      { type: 'image_url', image_url: { url: gif } },
      { type: 'text', text: 'Seen.' },
    ]
    const shown = [...messages.slice(0, 2), { ...messages[2], content }]
    const request = { messages: shown, tools }
    const { warnings = [] } = await answered(await post('chat', 'gemini-3.5-flash', request))
    expect(warnings.map(({ param }) => param)).to.deep.equal(['messages[2].content[0]'])
    expect(sentTo('google'))
      .to.contain('Gemini accepts a base64 data URL')
      .and.not.contain('image/gif')
    await answered(await post('chat', 'claude-sonnet-4-6', request))
    expect(sentTo('anthropic')).to.contain('image/gif')
  })

  it('does not end the conversation of an official client', async () => {
    const openai: OpenAI = openAiClient(gateway, gateway.liveKey)
    const anthropic: Anthropic = anthropicClient(gateway)
    const { messages } = requests['chat']!.body('picture') as {
      messages: OpenAI.ChatCompletionMessageParam[]
    }
    const { choices } = await openai.chat.completions.create({ model: blind, messages })
    messages.push(choices[0]!.message, { role: 'user', content: 'Thanks.' })
    const next = await openai.chat.completions.create({ model: blind, messages })
    expect(next.choices[0]!.message.content).to.equal('A dot.')
    const turns = requests['messages']!.body('picture') as unknown as Anthropic.MessageCreateParams
    const first = await anthropic.messages.create({ ...turns, model: blind, stream: false })
    const later = [
      ...turns.messages,
      { role: 'assistant' as const, content: first.content },
      { role: 'user' as const, content: 'Thanks.' },
    ]
    const last = await anthropic.messages.create({
      ...turns,
      messages: later,
      model: blind,
      stream: false,
    })
    expect(last.content).to.deep.equal([{ type: 'text', text: 'A dot.' }])
  })

  const url = 'https://10.0.0.1/a.pdf'
  const inBase64 = { type: 'base64', media_type: 'application/pdf', data: pdfData }
  const remotes: Record<string, [from: string, to: string]> = {
    chat: [pdf, url],
    responses: [`"file_data":"${pdf}"`, `"file_url":"${url}"`],
    messages: [JSON.stringify(inBase64), JSON.stringify({ type: 'url', url })],
  }
  for (const [api, [from, to]] of Object.entries(remotes)) {
    it(`becomes a text if it is the address of a document, which is never sent: ${api}`, async () => {
      const { param, body } = requests[api]!
      const asked = JSON.parse(JSON.stringify(body('document')).replace(from, to)) as Body
      for (const { id, model } of chatVendors) {
        const { warnings = [] } = await answered(await post(api, model, asked))
        expect(warnings.map((one) => one.param)).to.include(param)
        expect(sentTo(id)).to.contain('Documents are not fetched').and.not.contain(url)
      }
    })
  }

  it('is refused with the remedy if the user attaches the address of a document', async () => {
    const document = { type: 'document', source: { type: 'url', url } }
    const asked = { max_tokens: 9, messages: [{ role: 'user', content: [document] }] }
    const response = await post('messages', 'claude-sonnet-4-6', asked)
    expect(response.status).to.equal(400)
    expect(await response.text()).to.contain('a `source` of the type `base64`')
    expect(upstreams.anthropic.requests).to.have.length(0)
  })

  it('may be beside the result, as Claude Code sends a PDF that its tool has read', async () => {
    const { messages, ...rest } = requests['messages']!.body('document') as { messages: Body[] }
    const [result] = messages[2]!['content'] as { content: [object, object] }[]
    const turn = {
      role: 'user',
      content: [{ ...result, content: 'PDF file read' }, result!.content[1]],
    }
    const asked = { ...rest, messages: [...messages.slice(0, 2), turn] }
    const { warnings = [] } = await answered(await post('messages', blind, asked))
    expect(warnings.map(({ param }) => param)).to.deep.equal(['messages[2].content[0]'])
    expect(sentTo('deepseek')).to.contain('a document that is not shown').and.not.contain(pdfData)
    for (const { id, model } of chatVendors) {
      await answered(await post('messages', model, asked))
      expect(sentTo(id)).to.contain(pdfData)
    }
  })

  it('is refused as before if the user attaches it', async () => {
    const image = { type: 'image_url', image_url: { url: pixel } }
    const asked = { messages: [{ role: 'user', content: [image] }] }
    const refused = await post('chat', blind, asked)
    await expectError(refused, {
      status: 400,
      code: 'model_capability_mismatch',
      param: 'messages[0].content[0]',
    })
    expect(upstreams.deepseek.requests).to.have.length(0)
  })
})
