/** Where headers, or the `_meta` of a message, name a trace; nothing of it is checked yet. */
export type TraceCarrier = {
  readonly traceparent?: unknown
  readonly tracestate?: unknown
  readonly [name: string]: unknown
}

/** A span of somebody's trace, by W3C Trace Context (https://www.w3.org/TR/trace-context-2/). */
export type TraceContext = {
  traceId: string
  spanId: string
  flags: number
  state: string | undefined
}

/** The headers that name a span to a vendor. */
export type TraceHeaders = Readonly<Record<string, string>>

const parentForm =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-[\x20-\x7e]*)?$/
const parentCharactersMax = 256
const sampledFlag = 1
const stateCharactersMax = 512
const stateMembersMax = 32
const memberForm =
  /^([a-z0-9][a-z0-9_\-*/@]{0,255})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/

/** The span that a carrier names; undefined where it names none, or in another form. */
export function readTraceContext({
  traceparent,
  tracestate,
}: TraceCarrier): TraceContext | undefined {
  if (typeof traceparent !== 'string' || traceparent.length > parentCharactersMax) return undefined
  const found = parentForm.exec(traceparent)
  if (found === null) return undefined
  const [, version, traceId, spanId, flagsText, more] = found
  const isCurrent = version === '00'
  if (isCurrent && more !== undefined) return undefined
  const flags = parseInt(flagsText!, 16)
  return {
    traceId: traceId!,
    spanId: spanId!,
    // Of a later version nothing else is known to mean the same.
    flags: isCurrent ? flags : flags & sampledFlag,
    state: readState(tracestate),
  }
}

/** The members that fit; undefined for none, and for a list that is malformed anywhere. */
function readState(given: unknown): string | undefined {
  if (typeof given !== 'string') return undefined
  const members = given
    .split(',')
    .map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''))
    .filter((member) => member !== '')
  const keys = new Set(members.map((member) => memberForm.exec(member)?.[1]))
  const isMalformed = keys.has(undefined) || keys.size < members.length
  if (isMalformed || members.length === 0 || members.length > stateMembersMax) return undefined
  let state = members[0]!
  for (const member of members.slice(1)) {
    const longer = `${state},${member}`
    if (longer.length > stateCharactersMax) break
    state = longer
  }
  return state.length > stateCharactersMax ? undefined : state
}

/** The headers that name a span. */
export function traceHeaders({ traceId, spanId, flags, state }: TraceContext): TraceHeaders {
  const traceparent = `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`
  return state === undefined ? { traceparent } : { traceparent, tracestate: state }
}
