import { expect } from 'chai'
import type OpenAI from 'openai'
import { openAiClient } from '../support/openai-client.ts'
import { look } from '../support/pictures.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'

type Partial = OpenAI.Responses.ResponseImageGenCallPartialImageEvent
type Warned = { warnings?: { param: string; reason: string }[] }

describe('partial images of the tool image_generation', () => {
  let gateway: TestGateway
  let client: OpenAI
  before(async () => {
    gateway = await startGateway()
    client = openAiClient(gateway)
  })
  after(() => gateway.stop())

  const asked = (model: string) => ({
    model: 'gpt-5.4-mini',
    input: 'sandbox:tool-call=image_generation Draw a castle.',
    tools: [{ type: 'image_generation' as const, partial_images: 2, model }],
  })

  it('are events between those of the call, which the client of OpenAI reads', async () => {
    const events = []
    for await (const event of await client.responses.create({
      ...asked('gpt-image-2'),
      stream: true,
    }))
      events.push(event)
    const ofImage = events.filter(({ type }) => type.includes('image_generation_call'))
    expect(ofImage.map(({ type }) => type.split('.').at(-1))).to.deep.equal([
      'in_progress',
      'generating',
      'partial_image',
      'partial_image',
      'completed',
    ])
    const partials = ofImage.slice(2, 4) as Partial[]
    const [item] = events.flatMap((one) =>
      one.type === 'response.output_item.done' && one.item.type === 'image_generation_call'
        ? [{ index: one.output_index, id: one.item.id }]
        : [],
    )
    for (const [index, one] of partials.entries()) {
      const { partial_image_index, item_id: id, output_index, size, output_format: format } = one
      expect({ partial_image_index, id, index: output_index }).to.deep.equal({
        ...item,
        partial_image_index: index,
      })
      const seen = await look(one.partial_image_b64)
      expect({ size, format }).to.deep.equal({ size: '1024x1024', format: seen.format })
    }
    const last = events.at(-1) as OpenAI.Responses.ResponseCompletedEvent & { response: Warned }
    expect(last.type).to.equal('response.completed')
    expect(last.response.warnings).to.equal(undefined)
  })

  it('are reported if there is no stream, or if the model makes none', async () => {
    const whole = (await client.responses.create(asked('gpt-image-2'))) as Warned
    const [inOnePiece] = whole.warnings!
    expect(inOnePiece).to.include({
      param: 'tools[0].partial_images',
      reason: "Partial images are sent in a stream only. Add 'stream': true.",
    })
    const stream = client.responses.stream(asked('qwen-image-plus'))
    const { warnings } = (await stream.finalResponse()) as Warned
    expect(warnings!.filter(({ param }) => param.endsWith('partial_images'))).to.deep.equal([
      {
        param: 'tools[0].partial_images',
        requested: 2,
        applied: null,
        reason: 'alibaba/qwen-image-plus makes no partial images.',
      },
    ])
  })
})
