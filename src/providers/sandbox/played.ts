import type { ChatRequest } from '../../core/chat/chat.ts'
import type { Target, Warning } from '../../core/model.ts'
import { functionsOnly } from '../wire/function-tools.ts'

/** The properties of the simulated model that the sandbox needs. */
type Played = {
  contextWindow?: number
  reasons: boolean
  /** Whether answers of the model contain its reasoning as `reasoning_content`. */
  showsThoughts: boolean
}
/** When answers show the model's reasoning; `asked` means only with a `reasoning_effort`. */
export type ThoughtsShown = 'always' | 'asked' | 'never'

/** A chat request in the sandbox's wire format. */
export type PlayedRequest = ChatRequest & { played?: Played }

/** Fields whose adjusted value affects the sandbox's answer. */
const followed: ReadonlySet<string> = new Set([
  'max_completion_tokens',
  'max_tokens',
  'n',
  'reasoning_effort',
  'stop',
  'tool_choice',
  'top_logprobs',
] satisfies (keyof ChatRequest)[])

/** The request as the simulated vendor would receive it, according to the adapter's warnings. */
export function playedRequest(
  request: ChatRequest,
  { model: { row } }: Target,
  { warnings, thoughtsShown }: { warnings: readonly Warning[]; thoughtsShown: ThoughtsShown },
): PlayedRequest {
  // Adapters may convert deprecated functions to tools, and filter tools by `allowed_tools`.
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
  // `left` is still a valid request: only optional members were removed, and adapters apply valid values.
  return { ...(left as ChatRequest), played }
}
