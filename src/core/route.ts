import type { Caller } from './caller.ts'
import type { ChatAdapter } from './chat/chat.ts'
import type { EmbeddingAdapter } from './embedding/embedding.ts'
import { GatewayError } from './error.ts'
import type { ImageAdapter } from './image/image.ts'
import type { FindModel, FoundModel, Model, Problem, Target, Warning } from './model.ts'
import type { ModerationAdapter } from './moderation/moderation.ts'
import type { ProviderServer } from './trace.ts'

/** A configured provider; it has an adapter for each modality that it supports. */
export type Provider = {
  id: string
  chat?: ChatAdapter
  image?: ImageAdapter
  embedding?: EmbeddingAdapter
  moderation?: ModerationAdapter
  /** Whether another key exists that was not refused recently; absent with at most one key. */
  hasSpareKey?: () => boolean
  /** The upstream server, for traces; absent when the gateway answers itself. */
  server?: ProviderServer
  /** The model names that the provider lists; rejects when the list cannot be fetched. */
  listModels?: (signal: AbortSignal) => Promise<readonly string[]>
  /** The sandbox, which fails only on request: its failures do not count against its health. */
  simulated?: true
  /** Whether to skip the provider for this prompt; used by the sandbox to test failover. */
  skipsPrompt?: (prompt: string) => boolean
}

/** A model at a provider. */
export type Route = Target & {
  provider: Provider
  /** The deprecated model that the route's model replaces if its vendor no longer has it. */
  replaces?: Model | undefined
}

/** Whether the route is one to the successor of the requested model. */
export function isSuccessor({ replaces }: Route): boolean {
  return replaces !== undefined
}

/** The routes of a call, and warnings about the requested models. */
export type FoundRoutes = { routes: readonly Route[]; warnings: readonly Warning[] }

/** Finds the routes to a model for a caller; synchronously when the model is in memory. */
export type RouteTable = {
  find: FindModel
  /**
   * The routes of the models, in order. A name that memory does not know is looked up in the lists of the
   * vendors. Throws or rejects with a GatewayError.
   */
  routes(models: readonly FoundModel[], caller: Caller): FoundRoutes | Promise<FoundRoutes>
  /** Resolves a model name for this caller. Throws or rejects with a GatewayError. */
  model(name: string, caller: Caller): Model | Promise<Model>
  /** Whether the caller's key may use the model, and it has at least one route. */
  usable(model: Model, caller: Caller): boolean
}

/** A possible route to a model; its provider may not be configured. */
export type Way = Target & { isConfigured: boolean }

export type Ways = {
  /** The possible routes to a model, in the order of the settings, else of the catalog. */
  ways(model: Model): Way[]
  /** Whether the caller's key may call the model, even if it has no route. */
  mayUse(model: Model, caller: Caller): boolean
}

/** The problem of a route whose provider lacks an adapter; `what` names the kind of answer. */
export function noAdapter({ provider }: Route, what: string): Problem {
  return {
    param: 'model',
    message: `The gateway does not support ${what} with the provider '${provider.id}'.`,
  }
}

/** Problems and adjustments of a request on a route. */
export type Readiness = { problems: readonly Problem[]; warnings: readonly Warning[] }

/** The routes of one call. */
export type Selection = ReturnType<typeof selectRoutes>

type SelectionOptions = {
  routes: readonly Route[]
  check: (route: Route) => Readiness
  /** Adjustments that apply to every route. */
  warnings: readonly Warning[]
  /** `x-gateway-strict: true` was sent: a warning counts as a problem. */
  strict: boolean
  fallback: boolean
}

/**
 * Selects the routes that support the request, best first; `routesMax` of them may be tried. Throws a GatewayError
 * when there are none.
 */
export function selectRoutes(options: SelectionOptions) {
  const { check, warnings, strict, fallback } = options
  const problems: Problem[] = strict ? warnings.map(asProblem) : []
  const isRefused = problems.length > 0
  /** Whether a route may be tried; if not, `refusal` names its problems, unless it is a successor's. */
  const admits = (route: Route, readiness: Readiness) => {
    const found = [...readiness.problems, ...(strict ? readiness.warnings.map(asProblem) : [])]
    if (!isSuccessor(route)) problems.push(...found)
    return found.length === 0
  }
  /** The caller's error when no route is left: a 400 that names each problem. */
  const refusal = () => refusalOf(problems)
  const routes = options.routes.filter((route) => admits(route, check(route)))
  if (isRefused || routes.every(isSuccessor)) throw refusal()
  return { routes, routesMax: fallback ? Infinity : 1, admits, refusal }
}

/** Groups the routes by model, in the order of the first route of each; a successor is last. */
export function selectionsByModel(selection: Selection): Selection[] {
  const routes = Map.groupBy(selection.routes.slice(0, selection.routesMax), (one) => one.model)
  return [...routes.values()]
    .toSorted(([one], [other]) => Number(isSuccessor(one!)) - Number(isSuccessor(other!)))
    .map((ofModel) => ({ ...selection, routes: ofModel }))
}

function asProblem({ param, reason }: Warning): Problem {
  const message = `'${param}': ${reason} (x-gateway-strict is on.)`
  return { param, message, code: 'unsupported_parameter' }
}

/** The error of a request that no route supports. */
export function refusalOf(problems: readonly Problem[]): GatewayError {
  const [first] = problems
  const { code = 'model_capability_mismatch', param } = first ?? {}
  const messages = new Set(problems.map(({ message }) => message))
  const toolMessages = new Set(problems.map(({ message, toolMessage = message }) => toolMessage))
  const toolMessage = [...toolMessages].join(' ')
  return new GatewayError(code, [...messages].join(' '), { param, toolMessage })
}
