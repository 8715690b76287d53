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

/** What a route cannot do of a request, and what it would do otherwise than asked. */
export type Readiness = { problems: readonly Problem[]; warnings: readonly Warning[] }

/** The routes of one call. */
export type Selection = {
  /** Those that are not set aside, in order. */
  routes: readonly Route[]
  /** How many of them may be tried. */
  routesMax: number
  /** Whether a route may be tried; one that may not is set aside for good. */
  admits(route: Route, readiness: Readiness): boolean
  /** What the caller is told when none is left: a 400 that names each problem. */
  refusal(): GatewayError
}

type SelectionOptions = {
  routes: readonly Route[]
  check: (route: Route) => Readiness
  /** What is not done as asked on any of the routes. */
  warnings: readonly Warning[]
  /** With `x-gateway-strict: true` what would be adjusted with a warning is a problem. */
  strict: boolean
  fallback: boolean
}

/** Sets aside the routes that cannot do what was asked. Throws a GatewayError when none is left. */
export function selectRoutes(options: SelectionOptions): Selection {
  const { check, warnings, strict, fallback } = options
  const problems: Problem[] = strict ? warnings.map(asProblem) : []
  const isRefused = problems.length > 0
  const admits: Selection['admits'] = (_route, readiness) => {
    const found = strict
      ? [...readiness.problems, ...readiness.warnings.map(asProblem)]
      : readiness.problems
    problems.push(...found)
    return found.length === 0
  }
  const refusal = () => refusalOf(problems)
  const routes = options.routes.filter((route) => admits(route, check(route)))
  if (isRefused || routes.length === 0) throw refusal()
  return { routes, routesMax: fallback ? Infinity : 1, admits, refusal }
}

function asProblem({ param, reason }: Warning): Problem {
  const message = `${reason} (x-gateway-strict is on.)`
  return { param, message, code: 'unsupported_parameter' }
}

function refusalOf(problems: readonly Problem[]): GatewayError {
  const [first] = problems
  const { code = 'model_capability_mismatch', param } = first ?? {}
  const messages = new Set(problems.map(({ message }) => message))
  return new GatewayError(code, [...messages].join(' '), { param })
}
