import { hash } from 'node:crypto'
import type { Call, Delivered } from './call.ts'
import type { ChatAdapter, ChatRequest, ChatResult } from './chat.ts'
import { prepareImage, runImage, type ImageParts } from './image-run.ts'
import type { ImageRequest, ImageResult } from './image.ts'
import type { Warning } from './model.ts'
import type { Modality } from './receipt.ts'
import { ableRoutes, noAdapter, type Route } from './route.ts'

/** What a modality brings to the one sequence. */
export type Work<Result> = {
  modality: Modality
  /** The models that may answer, in order. */
  models: readonly string[]
  /** What the cache's key covers. */
  canonical: unknown
  timeoutMs: number
  /** Sets aside the routes that cannot do it. Throws a GatewayError when none is left. */
  prepare(routes: readonly Route[]): Prepared<Result>
  /** A result as the cache keeps it, and back: small on the heap, since there may be many. */
  pack(result: Result): unknown
  unpack(packed: unknown): Result
}
export type Prepared<Result> = {
  routes: Route[]
  warnings: Warning[]
  run(call: Call, routes: readonly Route[]): Promise<Ran<Result>>
}
/** `bytes` is about how much memory the result takes. */
export type Ran<Result> = Delivered & { result: Result; bytes: number }

/** A conversation with a language model. */
export function chatWork(request: ChatRequest, timeoutMs: number): Work<ChatResult> {
  return {
    modality: 'chat',
    models: [request.model, ...(request.models ?? [])],
    canonical: request,
    timeoutMs,
    prepare: (routes) => ({
      routes: ableRoutes(
        routes,
        (route) => route.provider.chat?.problems(request, route) ?? [noAdapter(route, 'answers')],
      ),
      warnings: [],
      run: async (call, able) => {
        const { signal } = call.deadline
        const { value, route } = await call.tryRoutes(able, (route) =>
          chatOf(route).complete({ request, route, signal }),
        )
        return { route, usage: value.usage, result: value, bytes: value.bytes }
      },
    }),
    pack: (result) => Buffer.from(JSON.stringify(result)),
    unpack: (packed) => JSON.parse(String(packed)) as ChatResult,
  }
}

/** Only routes with an adapter are left when they are called. */
export function chatOf({ provider }: Route): ChatAdapter {
  return provider.chat!
}

/** Pictures. */
export function imageWork(
  request: ImageRequest,
  timeoutMs: number,
  parts: ImageParts,
): Work<ImageResult> {
  return {
    modality: 'image',
    models: [request.model],
    // A picture of megabytes is as good as its digest.
    canonical: { ...request, sources: request.sources.map(({ base64 }) => digest(base64)) },
    timeoutMs,
    prepare: (routes) => {
      const { plan, ...prepared } = prepareImage(request, routes)
      return {
        ...prepared,
        run: (call, able) => runImage({ parts, request, plan, call, routes: able }),
      }
    },
    // The pictures are outside of the heap already.
    pack: (result) => result,
    unpack: (packed) => packed as ImageResult,
  }
}

function digest(text: string): string {
  return hash('sha256', text, 'base64url')
}
