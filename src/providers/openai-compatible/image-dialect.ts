import type { DescribedImages, ImageCall, ImagePlan, ImageSource } from '../../core/image/image.ts'

/** An item of an answer's `data`, as far as a vendor marks it in a way of its own. */
export type ImageItem = Readonly<Record<string, unknown>>

/** How a vendor's pictures differ from those of OpenAI-compatible servers. */
export type ImageDialect = {
  /** Members of each request beyond OpenAI's fields; `response_format: b64_json` when absent. */
  more?: (call: ImageCall) => object
  /** How a size is asked for; as `size` in pixels when absent. */
  shape?: (plan: ImagePlan) => object
  /** How input pictures are sent as JSON; as a form to `/images/edits` when absent. */
  edits?: { path: string; inputs: (sources: readonly ImageSource[]) => object }
  /** Whether an item is a placeholder for a picture that the vendor refused as unsafe. */
  isRefused?: (item: ImageItem) => boolean
  /** The header in which it takes an idempotency key. */
  idempotencyHeader?: string
  /** What the vendor makes with models that the catalog does not list. */
  unlisted?: DescribedImages
}

/** The members that every request to OpenAI-compatible servers has: they answer URLs otherwise. */
export const asBase64 = () => ({ response_format: 'b64_json' })
