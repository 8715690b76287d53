import type { Call } from '../call.ts'
import type { Problem } from '../model.ts'
import { ableRoutes, noAdapter, type Route } from '../route.ts'
import type { Work } from '../work.ts'
import type { ChatCompletion, ChatRequest, ChatResult, ChatTurn, PreparedChat } from './chat.ts'
import { checkConversation, modelProblems } from './check.ts'
import { tellMadePictures } from './made-pictures.ts'

/** A conversation with a language model. */
export function chatWork(request: ChatRequest, timeoutMs: number): Work<ChatResult> {
  return {
    modality: 'chat',
    models: [request.model, ...(request.models ?? [])],
    canonical: () => request,
    timeoutMs,
    prepare: (routes, strict) => {
      checkConversation(request)
      const prepared = new Map<Route, PreparedChat>()
      const able = ableRoutes(routes, (route) => {
        const chat = prepareFor(route, request)
        if (chat === undefined) return [noAdapter(route, 'answers')]
        prepared.set(route, chat)
        const problems = [...modelProblems(request, route.model), ...chat.problems]
        return strict ? [...problems, ...asProblems(chat)] : problems
      })
      // Only routes that were prepared are left.
      const chatOf = (route: Route) => prepared.get(route)!
      return {
        routes: able,
        warnings: [],
        run: (call, able) => {
          const turn = turnOf(call)
          const made = call.tryRoutes(able, (one) => chatOf(one).complete(turn))
          return made.then(({ value: { completion, usage, bytes }, route }) => {
            const result = { completion, text: JSON.stringify(completion) }
            return { route, usage, result, bytes, warnings: chatOf(route).warnings }
          })
        },
        stream: (call, able) => {
          const turn = turnOf(call)
          const begun = call.tryRoutes(able, (one) => chatOf(one).stream(turn), true)
          return begun.then(({ value: stream, route }) => {
            return { stream, route, warnings: chatOf(route).warnings }
          })
        },
      }
    },
    pack: ({ text }) => Buffer.from(text),
    unpack: (packed) => {
      const text = String(packed)
      return { completion: JSON.parse(text) as ChatCompletion, text }
    },
  }
}

function prepareFor(route: Route, asked: ChatRequest): PreparedChat | undefined {
  const { request, warnings } = tellMadePictures(asked, route.model)
  const chat = route.provider.chat?.prepare(request, route)
  if (chat === undefined || warnings.length === 0) return chat
  return { ...chat, warnings: [...warnings, ...chat.warnings] }
}

function turnOf({ deadline, startedAt }: Call): ChatTurn {
  return { signal: deadline.signal, createdSeconds: Math.floor(startedAt / 1000) }
}

/** With `x-gateway-strict: true` a route that would adjust the request cannot do what was asked. */
function asProblems({ warnings }: PreparedChat): Problem[] {
  return warnings.map(({ param, reason }) => ({
    param,
    message: `${reason} (x-gateway-strict is on.)`,
    code: 'unsupported_parameter',
  }))
}
