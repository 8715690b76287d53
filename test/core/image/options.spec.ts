import { expect } from 'chai'
import { readCatalogRows } from '../../../src/catalog/catalog.ts'
import { GatewayError } from '../../../src/core/error.ts'
import type { ImagePlan, FullImageRequest } from '../../../src/core/image/image.ts'
import { planImage } from '../../../src/core/image/plan.ts'
import { pixelsText } from '../../../src/core/image/size.ts'
import type { Model, Warning } from '../../../src/core/model.ts'
import { readPrices } from '../../../src/core/money/price.ts'
import { contract, resolve } from '../../support/contract.ts'
import { selectStrictly } from '../../support/route.ts'

type Options = Partial<
  Omit<
    FullImageRequest,
    'model' | 'models' | 'prompt' | 'texts' | 'n' | 'sources' | 'options' | 'mask'
  >
>

const models: Model[] = readCatalogRows()
  .filter(({ image }) => image !== undefined)
  .map((row) => ({ row, prices: readPrices(row), undescribed: false }))

/** Every value of an enum of the contract. */
function values<Name extends keyof Options>(schema: string): NonNullable<Options[Name]>[] {
  const { enum: list } = resolve(contract.components.schemas[schema]!)
  return list as NonNullable<Options[Name]>[]
}

const ratiosMade = new Set(models.flatMap(({ row }) => row.image!.size.aspect_ratios ?? []))
const documented = ['1024x1024', '1024x1536', '1536x1024', '2048x1024', '1024x2048', '4096x4096']
const odd = ['1x1', '1x9999', '99999x99999', '257x513', '1920x1080', '640x480', '3000x1000']

/** Sizes in the model's list, sizes in the product document, and sizes that no model supports. */
function sizesFor({ row }: Model): string[] {
  const { sizes = [], aspect_ratio_pixels: pixels = {} } = row.image!.size
  return [...new Set(['auto', ...sizes, ...Object.values(pixels), ...documented, ...odd])]
}

type Planned = { plan: ImagePlan; warnings: Warning[] }

function planned(options: Options, model: Model): Planned | GatewayError {
  const count = model.row.image!.reference_images_min
  const request = { model: model.row.id, prompt: 'a fox', n: 1, ...options }
  try {
    return planImage(request, model, { count, param: 'images' })
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

/** The API parameter of each option. */
const params: Record<keyof Options, string[]> = {
  size: ['size'],
  sizeClass: ['image_size'],
  aspectRatio: ['aspect_ratio'],
  quality: ['quality'],
  style: ['style'],
  background: ['background'],
  inputFidelity: ['input_fidelity'],
  outputFormat: ['output_format'],
  outputCompression: ['output_compression'],
  seed: ['seed'],
  moderation: ['moderation'],
  complexity: ['complexity'],
  user: ['user'],
  safetyIdentifier: ['safety_identifier'],
}

/** Whether the plan honours the option. */
function isHonoured(name: keyof Options, options: Options, plan: ImagePlan, model: Model): boolean {
  const { targetPixels, vendorPixels } = plan
  const { image, capabilities } = model.row
  const same = plan[name as keyof ImagePlan] === options[name]
  const delivered = targetPixels ?? vendorPixels
  switch (name) {
    case 'size':
      return options.size === 'auto' || pixelsText(delivered!) === options.size
    case 'sizeClass':
      return plan.sizeClass === options.sizeClass
    case 'aspectRatio':
      return plan.aspectRatio === options.aspectRatio
    case 'quality':
      return options.quality === 'auto' || (same && isIn(image!.qualities, options.quality))
    case 'inputFidelity':
      return same && isIn(image!.input_fidelities, options.inputFidelity)
    case 'seed':
      return same && capabilities['seed'] === true
    case 'moderation':
      return options.moderation === 'auto' || (same && image!.moderation === true)
    case 'complexity':
      return same && image!.complexity === true
    case 'user':
      return same && image!.end_user === true
    case 'safetyIdentifier':
      return same && image!.safety_identifier === true
    case 'style':
      // `vivid` is OpenAI's default, which models without styles support too.
      return options.style === 'vivid'
    case 'outputFormat':
      return plan.targetFormat === options.outputFormat
    case 'outputCompression':
      return plan.compression === options.outputCompression && plan.targetFormat !== 'png'
    case 'background':
      // A picture that is not transparent is opaque.
      return options.background !== 'transparent' || capabilities['transparency'] === true
  }
}

function isIn(list: readonly string[] | undefined, value: string | undefined): boolean {
  return value !== undefined && (list ?? []).includes(value)
}

/** Problems of the plan; empty when each option is honoured, or named in a warning or an error. */
function complaints(options: Options, model: Model): string[] {
  const names = Object.keys(options) as (keyof Options)[]
  const found = planned(options, model)
  const where = `${model.row.id} ${JSON.stringify(options)}`
  if (found instanceof GatewayError) {
    const named = names.some((name) => params[name].includes(found.param ?? ''))
    const helpful = found.status === 400 && found.message.includes(' ')
    return named && helpful ? [] : [`${where}: refused with '${found.param}' ${found.message}`]
  }
  const { plan, warnings } = found
  const warned = new Set(warnings.map(({ param }) => param))
  const silent = names.filter((name) => {
    const said = params[name].some((param) => warned.has(param))
    // An adjusted size is honoured with a warning, except of a vector picture. Other options are either honoured or
    // warned about.
    if (name === 'size' && plan.targetFormat !== 'svg')
      return !isHonoured(name, options, plan, model) || said !== isAdjusted(plan)
    return isHonoured(name, options, plan, model) === said
  })
  const unasked = [...warned].filter((param) => !names.some((name) => params[name].includes(param)))
  return [
    ...silent.map((name) => `${where}: ${name} is neither honoured nor named, or both`),
    ...unasked.map((param) => `${where}: a warning about ${param}, which was not asked for`),
    ...strictComplaints(warnings).map((text) => `${where}: ${text}`),
  ]
}

function isAdjusted({ targetPixels }: ImagePlan): boolean {
  return targetPixels !== undefined
}

function strictComplaints(warnings: readonly Warning[]): string[] {
  try {
    selectStrictly(warnings)
    return warnings.length === 0 ? [] : ['strict lets an adjustment pass']
  } catch (error) {
    const { code, param } = error as GatewayError
    const right = code === 'unsupported_parameter' && param === warnings[0]!.param
    return right ? [] : [`strict refuses with ${code} ${param}`]
  }
}

function orNothing<Name extends keyof Options>(
  name: Name,
  list: readonly NonNullable<Options[Name]>[],
): Options[] {
  return [{}, ...list.map((value) => ({ [name]: value }))]
}

const asked = {
  quality: orNothing('quality', values<'quality'>('ImageQuality')),
  format: orNothing('outputFormat', values<'outputFormat'>('ImageFormat')),
  background: orNothing('background', values<'background'>('ImageBackground')),
  compression: orNothing('outputCompression', [0, 50, 100]),
  rest: [
    ...orNothing('style', values<'style'>('ImageStyle')),
    ...values<'inputFidelity'>('ImageInputFidelity').map((inputFidelity) => ({ inputFidelity })),
    { seed: 0 },
    { seed: 2_147_483_647 },
    { user: 'u-1' },
    { safetyIdentifier: 'u-1' },
    ...values<'complexity'>('ImageComplexity').map((complexity) => ({ complexity })),
    ...values<'moderation'>('ImageModeration').map((moderation) => ({ moderation })),
  ],
}

describe('every option of a picture is honoured, adjusted with a warning, or refused by name', () => {
  for (const model of models) {
    const { id } = model.row

    it(`in each combination of size, quality, format and background: ${id}`, () => {
      const found: string[] = []
      for (const size of orNothing('size', sizesFor(model))) {
        for (const quality of asked.quality) {
          for (const format of asked.format) {
            for (const background of asked.background) {
              found.push(...complaints({ ...size, ...quality, ...format, ...background }, model))
            }
          }
        }
      }
      expect(found.slice(0, 5)).to.deep.equal([])
    })

    it(`in each combination of the other options: ${id}`, () => {
      const found = asked.format.flatMap((format) =>
        asked.compression.flatMap((compression) =>
          asked.rest.flatMap((rest) => complaints({ ...format, ...compression, ...rest }, model)),
        ),
      )
      expect(found.slice(0, 5)).to.deep.equal([])
    })

    it(`in each combination of class and ratio: ${id}`, () => {
      const ratios = orNothing('aspectRatio', [...ratiosMade, '7:3'])
      const found = orNothing('sizeClass', values<'sizeClass'>('ImageSizeClass')).flatMap((size) =>
        ratios.flatMap((ratio) => complaints({ ...size, ...ratio }, model)),
      )
      expect(found.slice(0, 5)).to.deep.equal([])
    })
  }
})
