import { expect } from 'chai'
import { GatewayError } from '../../../src/core/error.ts'
import type { FullImageRequest } from '../../../src/core/image/image.ts'
import { planImage } from '../../../src/core/image/plan.ts'
import type { ImageAbilities, Model } from '../../../src/core/model.ts'
import { readPrices } from '../../../src/core/money/price.ts'
import { selectStrictly } from '../../support/route.ts'

type Traits = {
  abilities?: Partial<ImageAbilities>
  capabilities?: Record<string, boolean>
  undescribed?: boolean
}
type Asked = Partial<Omit<FullImageRequest, 'sources'>> & { sources?: number }

function modelOf({ abilities, capabilities, undescribed = false }: Traits): Model {
  const able = {
    chat: false,
    streaming: false,
    tools: false,
    vision: false,
    reasoning: false,
    image_generation: true,
    image_edit: true,
  }
  return {
    row: {
      id: 'painter',
      provider: 'acme',
      upstream_model: 'painter',
      name: 'Painter',
      family: 'acme',
      status: 'active',
      input_modalities: ['text'],
      output_modalities: ['image'],
      capabilities: { ...able, ...capabilities },
      pricing: {},
      ...(undescribed
        ? {}
        : {
            image: {
              size: { kind: 'free' },
              images_per_call_max: 1,
              reference_images_min: 0,
              reference_images_max: 0,
              ...abilities,
            },
          }),
    },
    prices: readPrices({ pricing: {} }),
    undescribed,
  }
}

function plan(asked: Asked, traits: Traits) {
  const { sources = 0, ...rest } = asked
  const request = { model: 'painter', prompt: 'a fox', n: 1, ...rest }
  return planImage(request, modelOf(traits), { count: sources, param: 'images' })
}

function refusal(asked: Asked, traits: Traits): GatewayError {
  try {
    plan(asked, traits)
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error('It was not refused.')
}

const qualities = { qualities: ['low', 'high'] }
const makesAll: Partial<ImageAbilities> = {
  output_formats: ['png', 'jpeg', 'webp'],
  native_format: 'png',
}
const transparent = { transparency: true }

const optional = [
  'vendorPixels',
  'targetPixels',
  'quality',
  'vendorFormat',
  'targetFormat',
  'compression',
  'inputFidelity',
  'seed',
]

describe('the plan of a picture', () => {
  const planned: { name: string; asked: Asked; traits: Traits; expected: object }[] = [
    {
      name: 'sends a quality that the model has',
      asked: { quality: 'high' },
      traits: { abilities: qualities },
      expected: { quality: 'high' },
    },
    {
      name: 'omits the quality auto for a model without a quality setting',
      asked: { quality: 'auto' },
      traits: { abilities: qualities },
      expected: {},
    },
    {
      name: 'requests a format that the vendor makes',
      asked: { outputFormat: 'webp' },
      traits: { abilities: makesAll },
      expected: { vendorFormat: 'webp', targetFormat: 'webp' },
    },
    {
      name: 'converts to a format that the vendor does not make',
      asked: { outputFormat: 'webp' },
      traits: { abilities: { native_format: 'png' } },
      expected: { targetFormat: 'webp' },
    },
    {
      name: 'compresses a JPEG as requested',
      asked: { outputFormat: 'jpeg', outputCompression: 40 },
      traits: { abilities: makesAll },
      expected: { vendorFormat: 'jpeg', targetFormat: 'jpeg', compression: 40 },
    },
    {
      name: 'sends a seed that the model accepts',
      asked: { seed: 0 },
      traits: { capabilities: { seed: true } },
      expected: { seed: 0 },
    },
    {
      name: 'allows a transparent background to a model that makes it',
      asked: { background: 'transparent', outputFormat: 'webp' },
      traits: { abilities: makesAll, capabilities: transparent },
      expected: { vendorFormat: 'webp', targetFormat: 'webp' },
    },
    {
      name: 'sends no option that was not requested',
      asked: {},
      traits: { abilities: { ...makesAll, ...qualities }, capabilities: { seed: true } },
      expected: {},
    },
    {
      name: 'sends all options to a model without a description',
      asked: { quality: 'xhigh', seed: 7, background: 'transparent', size: '640x480' },
      traits: { undescribed: true },
      expected: { quality: 'xhigh', seed: 7, vendorPixels: { width: 640, height: 480 } },
    },
  ]
  for (const { name, asked, traits, expected } of planned) {
    it(name, () => {
      const made = plan(asked, traits)
      expect(made.plan).to.deep.include(expected)
      for (const part of optional.filter((one) => !(one in expected))) {
        expect(made.plan).to.not.have.property(part)
      }
      expect(made.warnings).to.deep.equal([])
    })
  }

  const dropped: { name: string; asked: Asked; traits: Traits; param: string; reason: RegExp }[] = [
    {
      name: 'a quality for a model without such a setting',
      asked: { quality: 'high' },
      traits: {},
      param: 'quality',
      reason: /^painter has no quality setting\.$/,
    },
    {
      name: 'a style, which no model has',
      asked: { style: 'natural' },
      traits: {},
      param: 'style',
      reason: /^painter has no style setting\.$/,
    },
    {
      name: 'a seed that the model does not accept',
      asked: { seed: 7 },
      traits: {},
      param: 'seed',
      reason: /^painter has no seed setting\.$/,
    },
    {
      name: 'the compression of a PNG',
      asked: { outputFormat: 'png', outputCompression: 40 },
      traits: { abilities: makesAll },
      param: 'output_compression',
      reason: /output_format of jpeg or webp/,
    },
    {
      name: 'a compression without a format',
      asked: { outputCompression: 40 },
      traits: { abilities: makesAll },
      param: 'output_compression',
      reason: /output_format of jpeg or webp/,
    },
    {
      name: 'the input fidelity for a model that chooses it',
      asked: { inputFidelity: 'high' },
      traits: {},
      param: 'input_fidelity',
      reason: /^painter has no input fidelity setting\.$/,
    },
  ]
  for (const { name, asked, traits, param, reason } of dropped) {
    it(`drops ${name} with a warning`, () => {
      const { plan: made, warnings } = plan(asked, traits)
      expect(warnings).to.have.length(1)
      expect(warnings[0]).to.include({ param, applied: null })
      expect(Object.values(asked)).to.include(warnings[0]!.requested)
      expect(warnings[0]!.reason).to.match(reason)
      expect(made).to.not.have.any.keys('quality', 'seed', 'compression', 'inputFidelity')
      expect(() => selectStrictly(warnings))
        .to.throw(GatewayError)
        .with.property('param', param)
    })
  }

  it('has a warning for each dropped option', () => {
    const { warnings } = plan({ quality: 'high', style: 'natural', seed: 1 }, {})
    expect(warnings.map(({ param }) => param).sort()).to.deep.equal(['quality', 'seed', 'style'])
    expect(() => selectStrictly([])).to.not.throw()
  })

  const refused: { name: string; asked: Asked; traits: Traits; param: string; says: RegExp }[] = [
    {
      name: 'a quality off the list of the model, naming those it has',
      asked: { quality: 'max' },
      traits: { abilities: qualities },
      param: 'quality',
      says: /has no quality 'max'\. It has: low, high\./,
    },
    {
      name: 'a transparent JPEG',
      asked: { background: 'transparent', outputFormat: 'jpeg' },
      traits: { abilities: makesAll, capabilities: transparent },
      param: 'background',
      says: /png or webp/,
    },
    {
      name: 'a transparent picture of a JPEG model without a requested format',
      asked: { background: 'transparent' },
      traits: { abilities: { native_format: 'jpeg' }, capabilities: transparent },
      param: 'background',
      says: /png or webp/,
    },
    {
      name: 'a transparent background for a model without transparency',
      asked: { background: 'transparent' },
      traits: { abilities: makesAll },
      param: 'background',
      says: /opaque or auto/,
    },
    {
      name: 'an input picture for a model that accepts none',
      asked: { sources: 1 },
      traits: {},
      param: 'images',
      says: /takes no input images/,
    },
    {
      name: 'more input pictures than the model accepts',
      asked: { sources: 4 },
      traits: { abilities: { reference_images_max: 3 } },
      param: 'images',
      says: /at most 3 input images/,
    },
    {
      name: 'no input picture for a model that needs one',
      asked: {},
      traits: { abilities: { reference_images_min: 1, reference_images_max: 3 } },
      param: 'images',
      says: /needs an input image/,
    },
  ]
  for (const { name, asked, traits, param, says } of refused) {
    it(`refuses ${name}`, () => {
      const error = refusal(asked, traits)
      expect(error).to.include({ param, status: 400 })
      expect(error.message).to.match(says)
    })
  }
})
