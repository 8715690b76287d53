import type { components } from '../../generated/types.ts'
import type { ImagePlan } from './image-plan.ts'
import type { Problem } from './model.ts'
import type { Usage } from './price.ts'
import type { Route } from './route.ts'

type Schemas = components['schemas']
export type ImageFormat = Schemas['ImageFormat']
export type ImageRequest = Schemas['CanonicalImageRequest']

/** A picture as base64 text, in the pieces in which it arrived. */
export type Picture = {
  base64: readonly Buffer[]
  format: ImageFormat
  width: number
  height: number
  revisedPrompt?: string
}
export type ImageResult = {
  pictures: Picture[]
  /** Token counts, when the vendor reports them. */
  usage?: Usage
  /** What the model wrote beside the pictures. */
  text?: string
}

/** `count` pictures asked of one route in one upstream call; `index` is that of the first. */
export type ImageCall = {
  request: ImageRequest
  plan: ImagePlan
  route: Route
  count: number
  index: number
  signal: AbortSignal
}

export type ImageAdapter = {
  picturesPerCall(route: Route): number
  problems(request: ImageRequest, route: Route): Problem[]
  generate(call: ImageCall): Promise<ImageResult>
}

/**
 * Splits `n` pictures over upstream calls of at most `perCall`, at most `concurrency` of them at a
 * time, and gives the answers in order. The first failure stops the rest.
 */
export async function splitCalls<T>(
  { n, perCall, concurrency }: { n: number; perCall: number; concurrency: number },
  call: (count: number, index: number) => Promise<T>,
): Promise<T[]> {
  const starts = Array.from({ length: Math.ceil(n / perCall) }, (_, i) => i * perCall)
  const answers: T[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < starts.length) {
      const position = next++
      const index = starts[position]!
      try {
        answers[position] = await call(Math.min(perCall, n - index), index)
      } catch (error) {
        next = starts.length
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, starts.length) }, worker))
  return answers
}
