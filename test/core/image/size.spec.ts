import { expect } from 'chai'
import fc from 'fast-check'
import { readCatalogRows } from '../../../src/catalog/catalog.ts'
import { GatewayError } from '../../../src/core/error.ts'
import type { FullImageRequest, Pixels } from '../../../src/core/image/image.ts'
import { pixelsText, planSize, readPixels } from '../../../src/core/image/size.ts'
import type { CatalogModel, ImageAbilities, Warning } from '../../../src/core/model.ts'

type Rule = ImageAbilities['size']
type Asked = Pick<FullImageRequest, 'size' | 'sizeClass' | 'aspectRatio'>

const models = readCatalogRows().flatMap(({ id, image }) =>
  image === undefined ? [] : { id, rule: image.size },
)
const model = fc.constantFrom(...models)
const side = fc.oneof(
  fc.integer({ min: 16, max: 8192 }),
  fc.constantFrom(256, 512, 720, 768, 1024, 1080, 1280, 1536, 1920, 2048, 2160, 3840, 4096),
)
const pixels = fc.record({ width: side, height: side })

function plan(asked: Asked, { id, rule }: { id: string; rule: Rule }) {
  const warnings: Warning[] = []
  const request: FullImageRequest = { model: id, prompt: 'a fox', n: 1, sources: [], ...asked }
  try {
    return { made: planSize(request, { rule, model: id, isVector: false }, warnings), warnings }
  } catch (error) {
    if (error instanceof GatewayError) return { refusal: error, warnings }
    throw error
  }
}

/** The sizes of a model with size classes, from its table. */
function classSizes(rule: Rule): string[] {
  const factors = { '512': 0.5, '1K': 1, '2K': 2, '3K': 3, '4K': 4 } as Record<string, number>
  return (rule.size_classes ?? []).flatMap((sizeClass) =>
    Object.values(rule.aspect_ratio_pixels ?? {}).map((text) => {
      const [width = 0, height = 0] = text.split('x').map((n) => Number(n) * factors[sizeClass]!)
      return `${width}x${height}`
    }),
  )
}

/** Whether the model's rule allows this width and height, computed without the planner. */
function allows(rule: Rule, { width, height }: Pixels): boolean {
  const text = `${width}x${height}`
  if (rule.sizes?.includes(text)) return true
  if (rule.kind === 'list') return false
  if (rule.kind === 'classes') return classSizes(rule).includes(text)
  if (rule.kind === 'none') return false
  const { side_multiple: multiple = 1, side_min: least = 1, side_max: most = Infinity } = rule
  // The default limit of the aspect ratio applies to vendors that document no limit.
  const { pixels_min: fewest = 1, pixels_max: many = 36_000_000, ratio_max: ratio = 16 } = rule
  const area = width * height
  return (
    [width, height].every((one) => one % multiple === 0 && one >= least && one <= most) &&
    area >= fewest &&
    area <= many &&
    Math.max(width, height) <= ratio * Math.min(width, height)
  )
}

describe('the size of a picture, for every image model and any size', () => {
  it('is requested from a vendor only if its model makes it', () => {
    fc.assert(
      fc.property(model, pixels, (one, size) => {
        const { made } = plan({ size: pixelsText(size) }, one)
        fc.pre(made?.vendorPixels !== undefined)
        expect(allows(one.rule, made.vendorPixels), pixelsText(made.vendorPixels)).to.equal(true)
      }),
      { numRuns: 3000 },
    )
  })

  it('is delivered exactly as requested', () => {
    fc.assert(
      fc.property(model, pixels, (one, size) => {
        const { made } = plan({ size: pixelsText(size) }, one)
        fc.pre(made !== undefined)
        expect(made.targetPixels ?? made.vendorPixels).to.deep.equal(size)
      }),
      { numRuns: 2000 },
    )
  })

  it('is requested unchanged, without a warning, when the model makes it', () => {
    fc.assert(
      fc.property(model, pixels, (one, size) => {
        fc.pre(allows(one.rule, size))
        const { made, warnings } = plan({ size: pixelsText(size) }, one)
        expect(made?.vendorPixels).to.deep.equal(size)
        expect(made?.targetPixels).to.equal(undefined)
        expect(warnings).to.deep.equal([])
      }),
      { numRuns: 2000, maxSkipsPerRun: 1000 },
    )
  })

  it('has one warning when it is adjusted', () => {
    fc.assert(
      fc.property(model, pixels, (one, size) => {
        const text = pixelsText(size)
        const { made, warnings } = plan({ size: text }, one)
        fc.pre(made?.targetPixels !== undefined)
        expect(warnings).to.have.length(1)
        const { vendorPixels, sizeClass, aspectRatio } = made
        const shape = sizeClass === undefined ? null : `${aspectRatio} at ${sizeClass}`
        const applied = vendorPixels === undefined ? shape : pixelsText(vendorPixels)
        expect(warnings[0]).to.include({ param: 'size', requested: text, applied })
        expect(warnings[0]!.reason).to.include(one.id)
      }),
      { numRuns: 1000 },
    )
  })

  it('is refused with sizes that work, and without warnings', () => {
    fc.assert(
      fc.property(model, pixels, (one, size) => {
        const { refusal, warnings } = plan({ size: pixelsText(size) }, one)
        fc.pre(refusal !== undefined)
        expect(refusal).to.include({ code: 'invalid_value', param: 'size', status: 400 })
        expect(refusal.message).to.include(one.id).and.to.include(pixelsText(size))
        expect(refusal.message).to.match(/It makes (sizes such as|sides up to|up to|the classes) /)
        expect(warnings).to.deep.equal([])
      }),
      { numRuns: 3000, maxSkipsPerRun: 1000 },
    )
  })

  it('enlarges each side by a factor of two at most', () => {
    fc.assert(
      fc.property(model, pixels, (one, size) => {
        const { made } = plan({ size: pixelsText(size) }, one)
        fc.pre(made?.vendorPixels !== undefined)
        const { width, height } = made.vendorPixels
        expect(Math.max(size.width / width, size.height / height)).to.be.at.most(2)
      }),
      { numRuns: 1000 },
    )
  })

  for (const one of models) {
    it(`needs no adjustment when the model lists it: ${one.id}`, () => {
      const own = [...(one.rule.sizes ?? []), ...classSizes(one.rule)]
      for (const size of own) {
        const { made, refusal, warnings } = plan({ size }, one)
        expect(refusal?.message).to.equal(undefined)
        expect(made?.vendorPixels, size).to.deep.equal(readPixels(size))
        expect(warnings).to.deep.equal([])
      }
      for (const size of [undefined, 'auto']) {
        const { made, warnings } = plan(size === undefined ? {} : { size }, one)
        expect(made).to.not.have.property('targetPixels')
        if (made?.vendorPixels) expect(allows(one.rule, made.vendorPixels)).to.equal(true)
        expect(warnings).to.deep.equal([])
      }
    })
  }
})

const documented: { models: string[]; sizes: string[] }[] = [
  {
    models: ['alibaba/qwen-image', 'alibaba/qwen-image-plus', 'alibaba/qwen-image-max'],
    sizes: ['1024x1024', '1024x1536', '1536x1024'],
  },
  { models: ['zai/cogview-4', 'zai/glm-image'], sizes: ['1024x1024', '2048x1024', '1024x2048'] },
  {
    models: ['bytedance/seedream-4-0', 'bytedance/seedream-4-5'],
    sizes: ['1024x1024', '2048x2048', '4096x4096'],
  },
  {
    models: ['gemini-3-pro-image-preview'],
    sizes: ['1024x1024', '2048x2048', '4096x4096', '1536x1024'],
  },
]

describe('the sizes of the product document', () => {
  for (const { models: ids, sizes } of documented) {
    for (const id of ids) {
      it(`${sizes.join(', ')} are made by ${id}`, () => {
        const one = models.find((candidate) => candidate.id === id)!
        for (const size of sizes) {
          const { made } = plan({ size }, one)
          expect(made?.targetPixels ?? made?.vendorPixels, size).to.deep.equal(readPixels(size))
        }
      })
    }
  }
})

describe('a size class with an aspect ratio', () => {
  const withClasses = models.filter(({ rule }) => rule.kind === 'classes')

  it('is sent to the vendor unchanged, for every pair that a model has', () => {
    for (const one of withClasses) {
      for (const sizeClass of one.rule.size_classes ?? []) {
        for (const aspectRatio of one.rule.aspect_ratios ?? []) {
          const { made, warnings } = plan({ sizeClass, aspectRatio }, one)
          expect(made).to.include({ sizeClass, aspectRatio })
          expect(made).to.not.have.property('targetPixels')
          expect(warnings).to.deep.equal([])
        }
      }
    }
  })

  it('has approximately the pixels of its class and its ratio', () => {
    for (const one of withClasses.filter(({ rule }) => rule.aspect_ratio_pixels)) {
      for (const sizeClass of one.rule.size_classes ?? []) {
        for (const aspectRatio of one.rule.aspect_ratios ?? []) {
          const { width, height } = plan({ sizeClass, aspectRatio }, one).made!.vendorPixels!
          const base = sizeClass === '512' ? 512 : Number.parseInt(sizeClass, 10) * 1024
          const [across = 0, down = 0] = aspectRatio.split(':').map(Number)
          const where = `${one.id} ${sizeClass} ${aspectRatio}`
          // The longer sizes of Recraft's older models keep the shorter side.
          const most = /recraftv[23]/.test(one.id) ? 2 : 1.2
          // Of Ideogram's longer sizes, 1K with 1:3 has the fewest pixels.
          const least = one.id.startsWith('ideogram/') ? 0.7 : 0.9
          expect((width * height) / base ** 2, where).to.be.within(least, most)
          expect(width / height / (across / down), where).to.be.within(0.93, 1.07)
        }
      }
    }
  })

  it('leaves a ratio to the model when only the class is given', () => {
    const one = models.find(({ id }) => id === 'gemini-3-pro-image-preview')!
    const { made } = plan({ sizeClass: '2K' }, one)
    expect(made).to.include({ sizeClass: '2K' }).and.not.have.property('aspectRatio')
  })

  const refused: {
    name: string
    id: CatalogModel['id']
    asked: Asked
    param: string
    says: RegExp
  }[] = [
    {
      name: 'a class that the model lacks',
      id: 'gemini-3.1-flash-lite-image',
      asked: { sizeClass: '4K' },
      param: 'image_size',
      says: /does not make the size 4K\. It makes: 1K\./,
    },
    {
      name: 'a ratio that the model lacks',
      id: 'gemini-3-pro-image-preview',
      asked: { aspectRatio: '1:8' },
      param: 'aspect_ratio',
      says: /does not make the aspect ratio 1:8\. It makes: 1:1, 2:3,/,
    },
    {
      name: 'a class for a model with sizes in pixels',
      id: 'alibaba/qwen-image',
      asked: { sizeClass: '2K' },
      param: 'image_size',
      says: /takes a size in pixels, such as 1024x1024/,
    },
    {
      name: 'a ratio for a model with sizes in pixels',
      id: 'zai/cogview-4',
      asked: { aspectRatio: '1:1' },
      param: 'aspect_ratio',
      says: /takes a size in pixels, such as 1024x1024/,
    },
  ]
  for (const { name, id, asked, param, says } of refused) {
    it(`is refused for ${name}, with valid values`, () => {
      const { refusal } = plan(
        asked,
        models.find((one) => one.id === id)!,
      )
      expect(refusal).to.include({ param, status: 400 })
      expect(refusal!.message).to.match(says)
    })
  }
})
