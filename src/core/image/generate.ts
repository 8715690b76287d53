import { addUsage, noUsage, type Usage } from '../money/price.ts'
import { afterSpending, ProviderFailure } from '../failure.ts'
import { prune } from '../prune.ts'
import type { Target } from '../model.ts'
import {
  splitCalls,
  type ImageAdapter,
  type ImageCall,
  type ImageFormat,
  type ImagePlan,
  type ImageResult,
  type Pixels,
} from './image.ts'
import { pixelsAssumed } from './size.ts'

/** The most base64 of a pixel: PNG stores three bytes or less, also of noise. */
const bytesPerPixel: Record<ImageFormat, number> = { png: 4, jpeg: 1, webp: 1, svg: 4 }
/** The base64 in one answer of a vendor, whose limit is a third higher. */
const answerBytesMax = 96 * 1024 * 1024

/** Upper bounds of the base64 of a planned picture, as the vendor makes it and as it is delivered. */
export function upperBytes(plan: ImagePlan, { model: { row } }: Target) {
  const { vendorPixels = pixelsAssumed, targetPixels = vendorPixels } = plan
  const format = plan.vendorFormat ?? row.image?.native_format ?? 'png'
  const bytesOf = ({ width, height }: Pixels, made: ImageFormat) =>
    width * height * bytesPerPixel[made]
  return {
    made: bytesOf(vendorPixels, format),
    delivered: bytesOf(targetPixels, plan.targetFormat ?? format),
  }
}

/**
 * The pictures of one upstream call: as many as the vendor makes and as fit into one answer. A partial image does not
 * say to which picture it belongs, so with partial images it is one.
 */
export function picturesPerCall(adapter: ImageAdapter, target: Target, plan: ImagePlan): number {
  if (plan.partialImages !== undefined || plan.isSingle === true) return 1
  const fitting = Math.floor(answerBytesMax / upperBytes(plan, target).made)
  return Math.max(1, Math.min(adapter.picturesPerCall(target), fitting))
}

/**
 * Splits the call again when a fallback route makes fewer pictures per call than the first route. A model may make
 * more pictures than requested.
 */
export async function generate(
  adapter: ImageAdapter,
  call: ImageCall,
  concurrency: number,
): Promise<ImageResult> {
  const perCall = picturesPerCall(adapter, call.target, call.plan)
  const made =
    call.count <= perCall
      ? await adapter.generate(call)
      : await generateEach(adapter, call, { concurrency, perCall })
  if (made.pictures.length < call.count) {
    const text = `The provider made ${made.pictures.length} of ${call.count} pictures.`
    throw afterSpending(new ProviderFailure('malformed', text), usageOf(made))
  }
  return made
}

/** Calls one route concurrently. */
async function generateEach(
  adapter: ImageAdapter,
  call: ImageCall,
  { concurrency, perCall }: { concurrency: number; perCall: number },
): Promise<ImageResult> {
  const answers: ImageResult[] = []
  const failures: ProviderFailure[] = []
  const generateOne = async (count: number, index: number) => {
    try {
      return await adapter.generate({ ...call, count, index: call.index + index })
    } catch (error) {
      if (error instanceof ProviderFailure) failures.push(error)
      throw error
    }
  }
  try {
    await splitCalls({ n: call.count, perCall, concurrency, answers }, generateOne)
  } catch (error) {
    throw afterAll(error, Object.values(answers), failures)
  }
  return merge(answers)
}

/** The error of one of several calls, with the usage of all calls. */
function afterAll(
  error: unknown,
  answers: readonly ImageResult[],
  failures: readonly ProviderFailure[],
): unknown {
  const counted = failures.flatMap(({ spent }) => (spent === undefined ? [] : [spent.usage]))
  const usages = [...answers.map(usageOf), ...counted]
  if (usages.length === 0 || !(error instanceof ProviderFailure)) return error
  const own = error.afterSending()
  own.spent = {
    usage: usages.reduce(addUsage),
    isOpen: failures.some(({ mayBeCharged }) => mayBeCharged),
  }
  return own
}

/** The usage of an answer, with its number of pictures. */
export function usageOf({ usage = noUsage, pictures }: ImageResult): Usage {
  return { ...usage, images: pictures.length }
}

/** Merges the answers of several upstream calls. */
export function merge(results: readonly ImageResult[]): ImageResult {
  if (results.length === 1) return results[0]!
  const first = results.find(({ usage }) => usage !== undefined)?.usage
  // An answer without usage is estimated by the first usage among the other answers.
  const usages = results.map(({ usage }) => usage ?? { ...first!, estimated: true })
  const texts = results.flatMap(({ text }) => (text === undefined ? [] : [text]))
  const { quality, background } = results[0]!
  return {
    pictures: results.flatMap(({ pictures }) => pictures),
    ...prune({
      usage: first && usages.reduce(addUsage),
      text: texts.length === 0 ? undefined : texts.join('\n'),
      quality,
      background,
    }),
  }
}
