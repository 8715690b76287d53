import { expect } from 'chai'
import type OpenAI from 'openai'
import { expectError } from '../support/expect-error.ts'
import { paint } from '../support/image-doubles/paint.ts'
import { startImageVendors, type ImageVendors, type VendorName } from '../support/image-vendors.ts'
import { openAiClient } from '../support/openai-client.ts'
import type { ChatImagesBody } from '../support/pictures.ts'

type Message = OpenAI.ChatCompletionMessageParam & { images?: unknown }
type Sent = { prompt: string; pictures: string[] }

const chat = '/v1/chat/completions'
const system: Message = { role: 'system', content: 'Flat colours.' }
const user = (content: string): Message => ({ role: 'user', content })
const base64Of = (url: string) => url.slice(url.indexOf(',') + 1)
const pictureOf = async (number: number) => {
  const bytes = await paint({ width: 24, height: 24, format: 'png', number })
  return `data:image/png;base64,${bytes.toString('base64')}`
}

/** The prompt and the pictures of a request in the form of each vendor. */
const readers: Record<string, (body: never) => Sent> = {
  google: ({
    contents,
  }: {
    contents: { parts: { text?: string; inlineData?: { data: string } }[] }[]
  }) => ({
    prompt: contents[0]!.parts[0]!.text!,
    pictures: contents[0]!.parts.slice(1).map(({ inlineData }) => inlineData!.data),
  }),
  alibaba: ({
    input,
  }: {
    input: { messages: { content: { text?: string; image?: string }[] }[] }
  }) => ({
    prompt: input.messages[0]!.content.at(-1)!.text!,
    pictures: input.messages[0]!.content.slice(0, -1).map(({ image }) => base64Of(image!)),
  }),
  bytedance: ({ prompt, image = [] }: { prompt: string; image?: string | string[] }) => ({
    prompt,
    pictures: [image].flat().map(base64Of),
  }),
  xai: ({
    prompt,
    image,
    images = [],
  }: {
    prompt: string
    image?: { url: string }
    images?: { url: string }[]
  }) => ({
    prompt,
    pictures: [...(image ? [image] : []), ...images].map(({ url }) => base64Of(url)),
  }),
  openai: ({ prompt, images = [] }: { prompt: string; images?: { image_url: string }[] }) => ({
    prompt,
    pictures: images.map(({ image_url: url }) => base64Of(url)),
  }),
  zai: ({ prompt }: { prompt: string }) => ({ prompt, pictures: [] }),
}

describe('a conversation with an image model', () => {
  let vendors: ImageVendors
  let client: OpenAI
  before(async () => {
    vendors = await startImageVendors()
    client = openAiClient(vendors.gateway, vendors.gateway.liveKey)
  })
  beforeEach(() => vendors.reset())
  after(() => vendors.stop())

  const sentTo = (vendor: VendorName): Sent =>
    readers[vendor]!(vendors.doubles[vendor].calls.at(-1)!.body as never)

  const groups = [
    { vendor: 'google', model: 'gemini-3-pro-image-preview', most: 14 },
    { vendor: 'alibaba', model: 'alibaba/qwen-image-3.0', most: 3 },
    { vendor: 'alibaba', model: 'alibaba/qwen-image-2.1-pro', most: 10 },
    { vendor: 'bytedance', model: 'bytedance/seedream-4-5', most: 14 },
    { vendor: 'bytedance', model: 'bytedance/seedream-5-0-flash', most: 10 },
    { vendor: 'xai', model: 'xai/grok-imagine-image-2.0', most: 3 },
    { vendor: 'openai', model: 'gpt-image-2', most: 16 },
    { vendor: 'zai', model: 'zai/cogview-4', most: 0 },
  ] as const
  for (const { vendor, model, most } of groups) {
    it(`lasts 20 turns with OpenAI's client, with the newest ${most} pictures as inputs: ${model}`, async () => {
      const messages: Message[] = [system]
      const made: string[] = []
      for (let turn = 0; turn < 20; turn++) {
        messages.push(user(`Change ${turn}`))
        const answer = await client.chat.completions.create({ model, messages })
        const { warnings = [] } = answer as unknown as ChatImagesBody
        const left = Math.max(0, turn - most)
        const told = warnings.map(({ param, requested, applied }) => ({
          param,
          requested,
          applied,
        }))
        const images = (count: number) => (count === 1 ? '1 image' : `${count} images`)
        const warned = { param: 'messages', requested: images(turn), applied: images(most) }
        expect(told).to.deep.equal(left === 0 ? [] : [warned])
        if (left > 0) expect(warnings[0]!.reason).to.include(`oldest ${left} of the conversation`)
        const { message } = answer.choices[0]!
        // Each picture differs, since the doubles may return the same one again.
        const url = await pictureOf(turn)
        made.push(base64Of(url))
        messages.push({
          ...message,
          images: [{ type: 'image_url', image_url: { url } }],
        })
      }
      const { prompt, pictures } = sentTo(vendor)
      const texts = Array.from({ length: 20 }, (_, turn) => `Change ${turn}`)
      expect(prompt).to.equal(['Flat colours.', ...texts].join('\n\n'))
      expect(pictures).to.deep.equal(most === 0 ? [] : made.slice(0, -1).slice(-most))
    })
  }

  const shown = async (count: number): Promise<Message[]> =>
    Promise.all(
      Array.from({ length: count }, async (_, index) => ({
        role: 'assistant' as const,
        content: '',
        images: [{ type: 'image_url', image_url: { url: await pictureOf(index) } }],
      })),
    )

  it('is refused in strict mode if a picture would be left out', async () => {
    const messages = [...(await shown(4)), user('Once more')]
    const body = { model: 'xai/grok-imagine-image-2.0', messages }
    const response = await vendors.post(chat, body, { headers: { 'x-gateway-strict': 'true' } })
    const expected = { status: 400, code: 'unsupported_parameter', param: 'messages' }
    const { message } = await expectError(response, expected)
    expect(message).to.include('at most 3 input images, so the oldest 1 of the conversation')
    expect(vendors.doubles.xai.calls).to.deep.equal([])
  })

  it('keeps the pictures of the last message, which are refused if they are too many', async () => {
    const url = await pictureOf(9)
    const part = { type: 'image_url' as const, image_url: { url } }
    const content = [part, part, part, part, { type: 'text' as const, text: 'Join them' }]
    const model = 'xai/grok-imagine-image-2.0'
    const messages = [...(await shown(2)), { role: 'user', content }]
    const response = await vendors.post(chat, { model, messages })
    const expected = { status: 400, code: 'model_capability_mismatch', param: 'messages' }
    const { message } = await expectError(response, expected)
    expect(message).to.include('at most 3 input images.')
  })

  it('does not fetch an old picture that is left out', async () => {
    const gone = { type: 'image_url' as const, image_url: { url: 'https://gone.invalid/a.png' } }
    const first = { role: 'user', content: [gone, { type: 'text', text: 'A boat' }] }
    const messages = [first, ...(await shown(3)), user('At night')]
    const response = await vendors.post(chat, { model: 'xai/grok-imagine-image-2.0', messages })
    expect(response.status, await response.text()).to.equal(200)
    expect(sentTo('xai').pictures).to.have.length(3)
  })

  it('is answered by a fallback model with as many pictures as that takes', async () => {
    const busy = { status: 503, body: {} }
    vendors.doubles.bytedance.play(busy, busy)
    const models = ['bytedance/seedream-4-5', 'xai/grok-imagine-image-2.0']
    const messages = [...(await shown(4)), user('Once more')]
    const response = await vendors.post(chat, { model: models[0], models, messages })
    const { warnings } = (await response.json()) as ChatImagesBody
    expect(response.headers.get('x-gateway-attempts')).to.include('xai=ok')
    expect(sentTo('bytedance').pictures).to.have.length(4)
    expect(sentTo('xai').pictures).to.have.length(3)
    expect(warnings!.map(({ reason }) => reason)).to.deep.equal([
      'xai/grok-imagine-image-2.0 takes at most 3 input images, so the oldest 1 of the conversation are left out.',
    ])
  })

  it('keeps the instructions and the newest texts that the prompt of the model can hold', async () => {
    const turns = Array.from({ length: 10 }, (_, turn) => user(`${turn}`.repeat(150)))
    const body = { model: 'alibaba/qwen-image', messages: [...turns, system, user('Minimal')] }
    const response = await vendors.post(chat, body)
    const { warnings } = (await response.json()) as ChatImagesBody
    const kept = [
      'Flat colours.',
      ...[5, 6, 7, 8, 9].map((turn) => `${turn}`.repeat(150)),
      'Minimal',
    ]
    expect(sentTo('alibaba').prompt).to.equal(kept.join('\n\n'))
    expect(warnings!.filter(({ param }) => param === 'messages')).to.deep.equal([
      {
        param: 'messages',
        requested: '12 texts',
        applied: '7 texts',
        reason:
          'alibaba/qwen-image takes prompts of at most 800 characters, so 5 texts of the conversation are left out.',
      },
    ])
    const strict = await vendors.post(chat, body, { headers: { 'x-gateway-strict': 'true' } })
    await expectError(strict, { status: 400, code: 'unsupported_parameter', param: 'messages' })
  })

  it('warns of the results of tools, which are not part of the prompt', async () => {
    const call = { id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }
    const messages = [
      user('What is outside?'),
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: 'Rain.' },
      user('Draw it'),
    ]
    const response = await vendors.post(chat, { model: 'gpt-image-2', messages })
    const { warnings } = (await response.json()) as ChatImagesBody
    const params = ['messages[1].tool_calls', 'messages[2].content']
    expect(warnings!.map(({ param }) => param)).to.deep.equal(params)
    expect(sentTo('openai').prompt).to.equal('What is outside?\n\nDraw it')
  })
})
