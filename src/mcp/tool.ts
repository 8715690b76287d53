import type { Check } from '../../generated/checks.js'
import type { components } from '../../generated/tool-types.ts'
import type { ToolName } from '../../generated/tools.ts'
import type { CallContext } from '../core/caller.ts'
import type { GatewayError } from '../core/error.ts'
import type { ReferenceCount } from '../core/resilience/ending.ts'
import type { InputSchema } from './arguments.ts'
import type { PrintedJson } from './json-rpc.ts'

/** The context of a call, which a handler gets in addition to the arguments. */
export type ToolCall = { context: CallContext; report: ReportProgress }

/** Sends a progress notification about the state of the call, which later notifications repeat. */
export type ReportProgress = (state: string) => void

/** A tool with its description, input check and handler. */
export type BoundTool = {
  /** Printed by `tools/list`. */
  description: {
    name: string
    title?: string
    description: string
    inputSchema: InputSchema
    annotations?: object
    icons?: readonly object[]
  }
  check: Check<object>
  /** Whether calls take long and cost money, so that the account's event streams report their state. */
  isGeneration: boolean
  handle: (input: object, call: ToolCall) => Promise<readonly ToolContent[]>
}

/** The current tools; a reload replaces them. A running call uses the tools with which it started. */
export type ToolsInForce = Pick<ReferenceCount, 'enter' | 'leave'> & {
  tools: ReadonlyMap<string, BoundTool>
  /** The result of `tools/list`, as JSON. */
  list: string
}

/**
 * Handles one tool; the input has passed its schema. Throws a GatewayError.
 *
 * @example
 * const list: ToolHandler<'list-models'> = async (input) => {
 *   return [{ type: 'text', text: `Models of ${input.family ?? 'all families'}` }]
 * }
 */
export type ToolHandler<Name extends ToolName> = (
  input: components['schemas'][Name],
  call: ToolCall,
) => Promise<readonly ToolContent[]>

type TextBlock = { type: 'text'; text: string }
/** An image as base64, in the chunks of the provider's answer. */
type ImageBlock = { type: 'image'; base64: readonly Buffer[]; mimeType: string }
/** A block of a tool's result; `json` is a block of any other type, sent verbatim. */
export type ToolContent = TextBlock | ImageBlock | { json: object }

/** A result as JSON text, so that megabytes of base64 are not serialized again; `meta` is separate. */
export type PrintedResult = { printed: PrintedJson; meta?: ResultMeta }

/** The id of the call that produced a result, and whether the result is replayed from an earlier call. */
type ResultMeta = { requestId: string; idempotentReplayed?: true }

/** Adds members at the start of a JSON object that has at least one member. */
export function withMembers(printed: PrintedJson, members: object): PrintedJson {
  const [first = '', ...rest] = printed
  const afterBrace = typeof first === 'string' ? first.slice(1) : first.subarray(1)
  return [`${JSON.stringify(members).slice(0, -1)},`, afterBrace, ...rest]
}

/** The result of `tools/call` with these blocks. */
export function printContent(blocks: readonly ToolContent[]): PrintedResult {
  const printed = blocks.flatMap((block, index) => [index === 0 ? '' : ',', ...printBlock(block)])
  return { printed: ['{"content":[', ...printed, ']}'] }
}

function printBlock(block: ToolContent): (string | Buffer)[] {
  if ('json' in block) return [JSON.stringify(block.json)]
  if (block.type === 'text') return [JSON.stringify(block)]
  // Base64 has no characters that JSON escapes.
  return ['{"type":"image","data":"', ...block.base64, `","mimeType":"${block.mimeType}"}`]
}

/** The result of a failed `tools/call`; the text states what the model has to correct. */
export function printFailure({ toolMessage, param }: GatewayError): PrintedResult {
  // Add the name of a list item, such as `images[1]`, which the message may lack.
  const isOneOfSeveral = param?.includes('[') === true && !toolMessage.includes(param)
  const text = isOneOfSeveral ? `'${param}': ${toolMessage}` : toolMessage
  return { printed: [JSON.stringify({ content: [{ type: 'text', text }], isError: true })] }
}
