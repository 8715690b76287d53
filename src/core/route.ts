import type { Caller } from './caller.ts'
import type { ChatAdapter } from './chat/chat.ts'
import { GatewayError } from './error.ts'
import type { ImageAdapter } from './image/image.ts'
import type { Model, Problem, Target, Warning } from './model.ts'

/** One configured way to reach models. */
export type Provider = {
  id: string
  chat?: ChatAdapter
  image?: ImageAdapter
  /** Whether a key is left that was not refused lately; absent where there is one key at most. */
  hasSpareKey?: () => boolean
  /** Fails only when it is asked to, which says nothing about its health. */
  simulated?: true
}

/** One way to have a model answer. */
export type Route = Target & { provider: Provider }

/** Which routes lead to a model, for which caller. */
export type RouteTable = {
  /** The routes of the named models, in order. Throws a GatewayError when there are none. */
  routes(names: readonly string[], caller: Caller): { routes: Route[]; warnings: Warning[] }
  /** Whether this caller can have the model answer at all. */
  usable(model: Model, caller: Caller): boolean
}

/** Why a route whose provider lacks a modality is set aside. */
export function noAdapter({ provider }: Route, what: string): Problem {
  return { param: 'model', message: `The provider '${provider.id}' gives no ${what} here.` }
}

/** The routes that can do what was asked; none is a 400 that names each problem. */
export function ableRoutes(
  routes: readonly Route[],
  problemsOf: (route: Route) => readonly Problem[],
): Route[] {
  const problems: Problem[] = []
  const able = routes.filter((route) => {
    const found = problemsOf(route)
    problems.push(...found)
    return found.length === 0
  })
  const first = problems[0]
  if (able.length > 0 || first === undefined) return able
  throw new GatewayError(
    first.code ?? 'model_capability_mismatch',
    [...new Set(problems.map(({ message }) => message))].join(' '),
    { param: first.param },
  )
}
