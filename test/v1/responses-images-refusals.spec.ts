import { expect } from 'chai'
import { expectError } from '../support/expect-error.ts'
import {
  asksForImage,
  imageModel,
  imageTool,
  readAnswer,
  startImageTool,
  type ImageToolHouse,
} from '../support/image-tool.ts'
import { pixel } from '../support/pixel.ts'

const model = 'gpt-4.1'
const ends = { text: ['There it is.'] }
const aFunction = (name: string) => ({ type: 'function', name })

describe('the settings of the tool image_generation', () => {
  let house: ImageToolHouse
  before(async () => {
    house = await startImageTool()
  })
  beforeEach(() => house.images.reset())
  after(() => house.stop())

  const refusals: [string, object, number, string, RegExp][] = [
    [
      'an unknown model',
      { tools: [{ ...imageTool, model: 'no-such' }] },
      404,
      'tools[0].model',
      /no-such/,
    ],
    [
      'a language model',
      { tools: [{ ...imageTool, model }] },
      400,
      'tools[0].model',
      /makes no images/,
    ],
    [
      'a model without a key',
      { tools: [aFunction('f'), { ...imageTool, model: 'zai/cogview-4' }] },
      503,
      'tools[1].model',
      /ZAI_API_KEY/,
    ],
    [
      'a quality that the model lacks',
      {
        tools: [
          { type: 'web_search', external_web_access: false },
          { ...imageTool, quality: 'hd' },
        ],
      },
      400,
      'tools[1].quality',
      /has no quality/,
    ],
    [
      'a size that is none',
      { tools: [{ ...imageTool, size: 'big' }] },
      400,
      'tools[0].size',
      /WIDTHx/,
    ],
    [
      'a format',
      { tools: [{ ...imageTool, output_format: 'svg' }] },
      400,
      'tools[0].output_format',
      /webp/,
    ],
    [
      'a mask',
      { tools: [{ ...imageTool, input_image_mask: { image_url: pixel } }] },
      400,
      'tools[0].input_image_mask',
      /image_config.mask/,
    ],
    ['two of it', { tools: [imageTool, imageTool] }, 400, 'tools[1]', /one tool/],
    [
      'a function of its name',
      { tools: [imageTool, aFunction('image_generation')] },
      400,
      'tools[1].name',
      /another name/,
    ],
    [
      'a function of its name before it',
      { tools: [aFunction('image_generation'), imageTool] },
      400,
      'tools[0].name',
      /another name/,
    ],
    [
      'nothing to edit',
      { tools: [{ ...imageTool, action: 'edit' }] },
      400,
      'tools[0].action',
      /no image/,
    ],
    [
      'a choice without the tool',
      { tools: [aFunction('f')], tool_choice: imageTool },
      400,
      'tool_choice',
      /not in `tools`/,
    ],
    ['no calls at all', { max_tool_calls: 0 }, 400, 'max_tool_calls', /1/],
    [
      'an item that is no image',
      { input: [{ type: 'image_generation_call', id: 'ig_1', result: 'aGVsbG8=' }] },
      400,
      'input[0].result',
      /not a PNG/,
    ],
    ['an image model as the model', { model: imageModel }, 400, 'model', /images\/generations/],
  ]
  for (const [what, body, status, param, message] of refusals) {
    it(`is refused with ${what}, before a model is called`, async () => {
      const sent = house.says(ends)
      const response = await house.post(body)
      const { error } = (await response.json()) as { error: { param: string; message: string } }
      expect({ status: response.status, param: error.param }).to.deep.equal({ status, param })
      expect(error.message).to.match(message)
      expect(sent).to.deep.equal([])
      expect(house.drawn()).to.deep.equal([])
    })
  }

  it('is refused in strict mode if a setting must be adjusted', async () => {
    const sent = house.says(ends)
    const tools = [{ ...imageTool, partial_images: 2 }]
    const response = await house.post({ tools }, { headers: { 'x-gateway-strict': 'true' } })
    await expectError(response, {
      status: 400,
      code: 'unsupported_parameter',
      param: 'tools[0].partial_images',
    })
    expect(sent).to.deep.equal([])
  })

  it('reports settings without effect', async () => {
    house.says(asksForImage(), ends)
    const more = { partial_images: 2, complexity: 'high', moderation: 'low', quality: 'low' }
    const { warnings = [] } = await readAnswer(
      await house.post({ tools: [{ ...imageTool, ...more }] }),
    )
    expect(warnings.map(({ param }) => param)).to.include.members([
      'tools[0].partial_images',
      'tools[0].complexity',
    ])
    expect(new Set(warnings.map(({ param, reason }) => param + reason)).size).to.equal(
      warnings.length,
    )
    expect(house.images.calls[0]!.body).to.include({ quality: 'low' })
  })
})
