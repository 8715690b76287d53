import { noUsage } from '../money/price.ts'
import type { Route } from '../route.ts'
import type { SureUsage } from '../money/upper-cost.ts'
import type { AskedImage, ImagePlan } from './image.ts'
import { plannedTraits } from './run.ts'

type Tried = {
  route: Route
  /** The route of the same model that is tried first, by which the call is split. */
  first: Route
}

/**
 * What pictures will have used where they are paid for one by one, with so many input pictures;
 * undefined where the vendor tells its charge.
 */
export function sureImageUsage(
  { n }: AskedImage,
  plan: ImagePlan,
  { route, first }: Tried,
  sources: number,
): SureUsage | undefined {
  // `imageWork` has set aside the routes without an image adapter.
  if (route.provider.image!.reportsCost === true) return undefined
  const calls = Math.ceil(n / first.provider.image!.picturesPerCall(first))
  const picture = { ...plannedTraits(plan), referenceImages: sources * calls }
  return { usage: { ...noUsage, images: n }, picture }
}
