import type { ChatRequest } from '../../core/chat/chat.ts'
import type { Target, Warning } from '../../core/model.ts'
import { functionsOnly } from '../wire/function-tools.ts'

/** What the sandbox has to know of the model that it plays. */
type Played = {
  contextWindow?: number
  reasons: boolean
  /** Its answers hold its reasoning as `reasoning_content`. */
  showsThoughts: boolean
}
/** When a vendor's answers show how the model reasoned: `asked` is with an effort alone. */
export type ThoughtsShown = 'always' | 'asked' | 'never'

/** A request on the wire of the sandbox. */
export type PlayedRequest = ChatRequest & { played?: Played }

/** The settings whose adjusted value decides what the sandbox answers. */
const followed: ReadonlySet<string> = new Set([
  'max_completion_tokens',
  'max_tokens',
  'n',
  'reasoning_effort',
  'stop',
  'tool_choice',
  'top_logprobs',
] satisfies (keyof ChatRequest)[])

/** The request as the played vendor would receive it, according to the adapter's warnings. */
export function playedRequest(
  request: ChatRequest,
  { model: { row } }: Target,
  { warnings, thoughtsShown }: { warnings: readonly Warning[]; thoughtsShown: ThoughtsShown },
): PlayedRequest {
  // A vendor may be given the old functions as tools, and the allowed tools alone.
  const isConverted = warnings.some(({ param }) => ['functions', 'tool_choice'].includes(param))
  const left: Record<string, unknown> = isConverted
    ? functionsOnly(request, row.provider).request
    : { ...request }
  for (const { param, applied } of warnings) {
    if (applied === null) delete left[param]
    else if (followed.has(param)) left[param] = applied
  }
  const effort = left['reasoning_effort'] ?? undefined
  const asked = effort !== undefined || thoughtsShown !== 'asked'
  const reasons = row.capabilities.reasoning && asked && effort !== 'none'
  const { context_window: window, doubtful = [] } = row
  const isKnown = !doubtful.includes('context_window')
  const played: Played = {
    ...(isKnown && window !== undefined ? { contextWindow: window } : {}),
    reasons,
    showsThoughts: reasons && thoughtsShown !== 'never',
  }
  // Only optional members were removed, and adapters apply values that a request may have.
  return { ...(left as ChatRequest), played }
}
