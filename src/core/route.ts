import type { Caller } from './caller.ts'
import type { ChatAdapter } from './chat/chat.ts'
import { GatewayError } from './error.ts'
import type { ImageAdapter } from './image/image.ts'
import type { Model, Problem, Target, Warning } from './model.ts'
import type { Peer } from './trace.ts'

/** A configured provider; it has an adapter for each modality that it supports. */
export type Provider = {
  id: string
  chat?: ChatAdapter
  image?: ImageAdapter
  /** Whether another key is left that was not refused recently; absent with at most one key. */
  hasSpareKey?: () => boolean
  /** Who answers, for traces; absent where the gateway does. */
  peer?: Peer
  /** The names of its own list of models; rejects when that cannot be had. */
  listModels?: (signal: AbortSignal) => Promise<readonly string[]>
  /** The sandbox, which fails only on request: its failures do not count against its health. */
  simulated?: true
  /** Whether it takes no part in a call with this prompt: a second route for tests of failover. */
  sitsOut?: (prompt: string) => boolean
}

/** A model at a provider. */
export type Route = Target & { provider: Provider }

/** The routes of a call, and what is to be told of the models that were named. */
export type FoundRoutes = { routes: Route[]; warnings: Warning[] }

/** Finds the routes to a model for a caller; what is known is found at once, without a promise. */
export type RouteTable = {
  /** The routes of the named models, in order. Throws or rejects with a GatewayError. */
  routes(names: readonly string[], caller: Caller): FoundRoutes | Promise<FoundRoutes>
  /** The model behind a name for this caller. Throws or rejects with a GatewayError. */
  model(name: string, caller: Caller): Model | Promise<Model>
  /** The model behind a name as far as it is known now. */
  peek(name: string, caller: Caller): Model | undefined
  /** Whether the caller's key may use the model and at least one route leads to it. */
  usable(model: Model, caller: Caller): boolean
}

/** A way to a model, whether its provider is configured or not. */
export type Way = Target & { isConfigured: boolean }

/** What the catalog tells of the ways to its models. */
export type Ways = {
  /** As the settings, or the catalog, list them. */
  ways(model: Model): Way[]
  /** Whether the caller's key may call the model, if anything leads to it. */
  mayUse(model: Model, caller: Caller): boolean
}

/** The problem of a route whose provider lacks an adapter; `what` is what it would answer. */
export function noAdapter({ provider }: Route, what: string): Problem {
  return { param: 'model', message: `The provider '${provider.id}' gives no ${what} here.` }
}

/** What a route cannot do of a request, and what it would adjust. */
export type Readiness = { problems: readonly Problem[]; warnings: readonly Warning[] }

/** The routes of one call. */
export type Selection = {
  /** Those that can do what was asked, best first. */
  routes: readonly Route[]
  /** How many of them may be tried. */
  routesMax: number
  /** Whether a route may be tried; the problems of one that may not are added to `refusal`. */
  admits(route: Route, readiness: Readiness): boolean
  /** The caller's error when no route is left: a 400 that names each problem. */
  refusal(): GatewayError
}

type SelectionOptions = {
  routes: readonly Route[]
  check: (route: Route) => Readiness
  /** Adjustments that apply whichever route answers. */
  warnings: readonly Warning[]
  /** `x-gateway-strict: true` was sent: a warning counts as a problem. */
  strict: boolean
  fallback: boolean
}

/** Selects the routes that can do what was asked. Throws a GatewayError when there is none. */
export function selectRoutes(options: SelectionOptions): Selection {
  const { check, warnings, strict, fallback } = options
  const problems: Problem[] = strict ? warnings.map(asProblem) : []
  const isRefused = problems.length > 0
  const admits: Selection['admits'] = (_route, readiness) => {
    const found = strict
      ? [...readiness.problems, ...readiness.warnings.map(asProblem)]
      : readiness.problems
    for (const problem of found) problems.push(problem)
    return found.length === 0
  }
  const refusal = () => refusalOf(problems)
  const routes = options.routes.filter((route) => admits(route, check(route)))
  if (isRefused || routes.length === 0) throw refusal()
  return { routes, routesMax: fallback ? Infinity : 1, admits, refusal }
}

function asProblem({ param, reason }: Warning): Problem {
  const message = `'${param}': ${reason} (x-gateway-strict is on.)`
  return { param, message, code: 'unsupported_parameter' }
}

function refusalOf(problems: readonly Problem[]): GatewayError {
  const [first] = problems
  const { code = 'model_capability_mismatch', param } = first ?? {}
  const messages = new Set(problems.map(({ message }) => message))
  const told = new Set(problems.map(({ message, toolMessage = message }) => toolMessage))
  const toolMessage = [...told].join(' ')
  return new GatewayError(code, [...messages].join(' '), { param, toolMessage })
}
