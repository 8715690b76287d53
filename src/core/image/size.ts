import { GatewayError } from '../error.ts'
import { prune } from '../prune.ts'
import type { ImageAbilities, Warning } from '../model.ts'
import type { ImageRequest, Pixels, SizePlan } from './image.ts'

type SizeRule = ImageAbilities['size']

/** The largest ratio of the sides for a vendor that documents no limit. */
const ratioMaxAssumed = 16

/** The largest scale factor per side (docs/behaviour.md#images); more would mostly interpolate. */
const enlargementMax = 2

/** The most pixels of a picture: no model makes more, and scaling to more would take minutes. */
const pixelsMax = 36_000_000

/** The pixels of a picture whose size the vendor chooses, for estimates of memory. */
export const pixelsAssumed: Pixels = { width: 1536, height: 1536 }

/** Parses a size such as `1024x1024`. */
export function readPixels(size: string): Pixels {
  const [width = 0, height = 0] = size.split('x').map(Number)
  return { width, height }
}

/** Formats a size as `1024x1024`. */
export function pixelsText({ width, height }: Pixels): string {
  return `${width}x${height}`
}

/** The largest size that a model makes; the gateway's limit when the catalog has no size for the model. */
export function largestPixels(rule: SizeRule | undefined): Pixels {
  const listed = (rule?.sizes ?? []).map(readPixels)
  const largest = listed.toSorted((a, b) => b.width * b.height - a.width * a.height)[0]
  if (largest !== undefined) return largest
  const side = Math.floor(Math.sqrt(rule?.pixels_max ?? pixelsMax))
  return { width: side, height: side }
}

/** The sizes of a model; a vector picture is not resized. */
type Sizes = { rule: SizeRule; model: string; isVector: boolean }

/** Plans a size; warns if the picture has another one or is resized. Throws a GatewayError for an impossible size. */
export function planSize(
  request: ImageRequest,
  { rule, model, isVector }: Sizes,
  warnings: Warning[],
): SizePlan {
  const { size, sizeClass, aspectRatio } = request
  if (sizeClass !== undefined || aspectRatio !== undefined) {
    return planClass({ sizeClass, aspectRatio }, rule, model)
  }
  if (size === undefined || size === 'auto') return planDefault(rule)
  const pixels = readPixels(size)
  if (pixels.width * pixels.height > pixelsMax) throw tooLarge(pixels, rule, model)
  const plan = nearest[rule.kind](pixels, rule, model)
  const made = plan.vendorPixels
  if (made !== undefined && pixelsText(made) === size) return plan
  if (isVector) {
    const { aspectRatio, vendorPixels } = plan
    const applied = aspectRatio ?? (vendorPixels === undefined ? null : pixelsText(vendorPixels))
    const reason = `${model} makes a vector picture${applied === null ? '' : ` in ${applied}`}, which is not fitted to ${size}.`
    warnings.push({ param: 'size', requested: size, applied, reason })
    return plan
  }
  warnings.push({ param: 'size', requested: size, ...adjustment(pixels, plan, model) })
  return { ...plan, targetPixels: pixels }
}

function adjustment(
  pixels: Pixels,
  { vendorPixels: made, sizeClass, aspectRatio }: SizePlan,
  model: string,
): Pick<Warning, 'applied' | 'reason'> {
  const size = pixelsText(pixels)
  if (made !== undefined) {
    const applied = pixelsText(made)
    const sameShape = Math.abs(ratioDistance(pixels, made)) < 0.001
    const fitted = sameShape ? 'scaled' : 'scaled and cropped'
    const reason = `${model} does not make ${size}; the picture is made at ${applied} and ${fitted}.`
    return { applied, reason }
  }
  if (sizeClass === undefined) {
    const reason = `${model} chooses the size itself; the picture is fitted to ${size}.`
    return { applied: null, reason }
  }
  const applied = `${aspectRatio} at ${sizeClass}`
  const reason = `${model} takes a size class instead of pixels; the picture is made in ${applied} and fitted to ${size}.`
  return { applied, reason }
}

function planDefault(rule: SizeRule): SizePlan {
  const first = rule.kind === 'classes' ? rule.size_classes?.[0] : undefined
  if (first !== undefined) return classPlan(rule, rule.default_size ?? first, '1:1', false)
  const { default_size: standard } = rule
  if (standard === undefined || standard === 'auto') return {}
  return { vendorPixels: readPixels(standard) }
}

function planClass(
  wish: { sizeClass: string | undefined; aspectRatio: string | undefined },
  rule: SizeRule,
  model: string,
): SizePlan {
  const { size_classes: classes = [], aspect_ratios: ratios = [] } = rule
  const sizeClass = wish.sizeClass ?? rule.default_size ?? classes[0]
  if (rule.kind !== 'classes' || sizeClass === undefined) {
    const param = wish.sizeClass === undefined ? 'aspect_ratio' : 'image_size'
    const other = 'instead of a size class or aspect ratio'
    const text = `${model} takes a size in pixels, such as 1024x1024, ${other}.`
    throw new GatewayError('unsupported_parameter', text, { param })
  }
  if (!classes.includes(sizeClass)) {
    const text = `${model} does not make the size ${sizeClass}. It makes: ${classes.join(', ')}.`
    throw new GatewayError('invalid_value', text, { param: 'image_size' })
  }
  if (wish.aspectRatio !== undefined && !ratios.some((ratio) => ratio === wish.aspectRatio)) {
    const makes = `It makes: ${ratios.join(', ')}.`
    const text = `${model} does not make the aspect ratio ${wish.aspectRatio}. ${makes}`
    throw new GatewayError('invalid_value', text, { param: 'aspect_ratio' })
  }
  return classPlan(rule, sizeClass, wish.aspectRatio ?? '1:1', wish.aspectRatio !== undefined)
}

/** A ratio that was not requested is not sent: the model then uses the ratio of the input picture. */
function classPlan(rule: SizeRule, sizeClass: string, ratio: string, sendRatio: boolean): SizePlan {
  const made = classPixels(rule, sizeClass, ratio)
  const aspectRatio = sendRatio ? ratio : undefined
  return { sizeClass, ...prune({ aspectRatio, vendorPixels: made }) }
}

function classPixels(rule: SizeRule, sizeClass: string, ratio: string): Pixels | undefined {
  const base = rule.aspect_ratio_pixels?.[ratio]
  if (base === undefined) return undefined
  const { width, height } = readPixels(base)
  const factor = classFactor(sizeClass)
  return { width: width * factor, height: height * factor }
}

/** A side of the class, in units of 1024 pixels. */
function classFactor(sizeClass: string): number {
  return sizeClass === '512' ? 0.5 : Number.parseFloat(sizeClass)
}

/** Assumed pixels of a class and a ratio when the vendor does not document them. */
function nominalPixels(sizeClass: string, ratio: string): Pixels {
  const [across = 1, down = 1] = ratio.split(':').map(Number)
  const side = classFactor(sizeClass) * 1024
  return { width: side * Math.sqrt(across / down), height: side * Math.sqrt(down / across) }
}

type Nearest = (pixels: Pixels, rule: SizeRule, model: string) => SizePlan

const nearest: Readonly<Record<SizeRule['kind'], Nearest>> = {
  list: nearestOfList,
  classes: nearestClass,
  free: nearestFree,
  none: () => ({}),
}

/** The candidate of the closest ratio: the smallest that covers the requested size, else the largest. */
function closest<T extends Pixels>(pixels: Pixels, candidates: readonly T[]): T | undefined {
  const covers = (size: Pixels) => size.width >= pixels.width && size.height >= pixels.height
  return [...candidates].sort((a, b) => {
    const shape = Math.abs(ratioDistance(pixels, a)) - Math.abs(ratioDistance(pixels, b))
    if (Math.abs(shape) > 0.001) return shape
    if (covers(a) !== covers(b)) return covers(a) ? -1 : 1
    return covers(a) ? a.width - b.width : b.width - a.width
  })[0]
}

function ratioDistance(a: Pixels, b: Pixels): number {
  return Math.log(a.width / a.height) - Math.log(b.width / b.height)
}

function nearestOfList(pixels: Pixels, rule: SizeRule, model: string): SizePlan {
  const sizes = (rule.sizes ?? []).map(readPixels)
  const exact = sizes.find((s) => s.width === pixels.width && s.height === pixels.height)
  const made = exact ?? closest(pixels, sizes)
  if (made === undefined || enlargement(pixels, made) > enlargementMax) {
    throw tooLarge(pixels, rule, model)
  }
  return { vendorPixels: made }
}

function nearestClass(pixels: Pixels, rule: SizeRule, model: string): SizePlan {
  const candidates = (rule.size_classes ?? []).flatMap((sizeClass) =>
    (rule.aspect_ratios ?? []).map((aspectRatio) => {
      const made = classPixels(rule, sizeClass, aspectRatio)
      const { width, height } = made ?? nominalPixels(sizeClass, aspectRatio)
      return { width, height, made, sizeClass, aspectRatio }
    }),
  )
  const nearest = closest(pixels, candidates)
  if (nearest === undefined) return {}
  if (enlargement(pixels, nearest) > enlargementMax) throw tooLarge(pixels, rule, model)
  const { sizeClass, aspectRatio, made } = nearest
  return { sizeClass, aspectRatio, ...prune({ vendorPixels: made }) }
}

/** The scale factor per side that is needed to cover the requested size. */
function enlargement(pixels: Pixels, size: Pixels): number {
  return Math.max(pixels.width / size.width, pixels.height / size.height)
}

function nearestFree(pixels: Pixels, rule: SizeRule, model: string): SizePlan {
  if (rule.sizes?.includes(pixelsText(pixels))) return { vendorPixels: pixels }
  const { side_multiple: multiple = 1, side_min: least = 1, side_max: most = Infinity } = rule
  const ratioMost = Math.min(rule.ratio_max ?? ratioMaxAssumed, most / least)
  const longer = Math.max(pixels.width, pixels.height)
  const shorter = Math.min(pixels.width, pixels.height)
  if (longer > most || pixels.width * pixels.height > (rule.pixels_max ?? Infinity)) {
    throw tooLarge(pixels, rule, model)
  }
  // If the ratio exceeds the limit, a longer shorter side is requested and then cropped.
  const shaped = Math.max(shorter, longer / ratioMost)
  const grow = Math.max(1, least / shaped, Math.sqrt((rule.pixels_min ?? 0) / (longer * shaped)))
  const fit = (round: (value: number) => number) => (side: number) =>
    Math.min(most, round((side * grow - 1e-6) / multiple) * multiple)
  const fits = ({ longer: a, shorter: b }: { longer: number; shorter: number }) =>
    a * b <= (rule.pixels_max ?? Infinity)
  const covering = { longer: fit(Math.ceil)(longer), shorter: fit(Math.ceil)(shaped) }
  // If sides rounded up exceed the limit, they are rounded down and the picture is scaled up slightly.
  const within = { longer: fit(Math.floor)(longer), shorter: fit(Math.floor)(shaped) }
  const made = fits(covering) ? covering : within
  if (!fits(made)) throw tooLarge(pixels, rule, model)
  return {
    vendorPixels:
      pixels.width >= pixels.height
        ? { width: made.longer, height: made.shorter }
        : { width: made.shorter, height: made.longer },
  }
}

function tooLarge(pixels: Pixels, rule: SizeRule, model: string): GatewayError {
  const sizes = rule.kind === 'classes' ? squares(rule) : (rule.sizes ?? [])
  const works = [
    ...(sizes.length > 0 ? [`sizes such as ${sizes.join(', ')}`] : []),
    ...(rule.side_max === undefined ? [] : [`sides up to ${rule.side_max}`]),
    ...(rule.pixels_max === undefined ? [] : [`up to ${rule.pixels_max} pixels in all`]),
  ]
  const limit = works.length === 0 ? `up to ${pixelsMax} pixels in all` : works.join('; ')
  const text = `${model} cannot make ${pixelsText(pixels)}. It makes ${limit}.`
  return new GatewayError('invalid_value', text, { param: 'size' })
}

/** Square sizes of a rule's classes, for error messages about a size in pixels. */
function squares({ size_classes: classes = [] }: SizeRule): string[] {
  return classes.map((sizeClass) => pixelsText(nominalPixels(sizeClass, '1:1')))
}
