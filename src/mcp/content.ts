import type { GatewayError } from '../core/error.ts'
import type { PrintedJson } from './json-rpc.ts'

type TextBlock = { type: 'text'; text: string }
/** A picture as base64, in the chunks in which it arrived. */
type ImageBlock = { type: 'image'; base64: readonly Buffer[]; mimeType: string }
/** A block of a tool's answer; `json` is a block of any other type, sent verbatim. */
export type ToolContent = TextBlock | ImageBlock | { json: object }

/** A result as JSON text, so that megabytes of base64 are not serialized again; `meta` is apart. */
export type PrintedResult = { printed: PrintedJson; meta?: ResultMeta }

/** The result of `tools/call` with these blocks. */
export function printContent(blocks: readonly ToolContent[]): PrintedResult {
  const printed = blocks.flatMap((block, index) => [index === 0 ? '' : ',', ...printBlock(block)])
  return { printed: ['{"content":[', ...printed, ']}'] }
}

/** The result of a failed `tools/call`; its text must tell a model what to correct. */
export function printFailure(text: string): PrintedResult {
  return { printed: [JSON.stringify({ content: [{ type: 'text', text }], isError: true })] }
}

/** What a model is told to correct; one of several parameters of a kind is named. */
export function failureText({ toolMessage, param }: GatewayError): string {
  const isOneOfSeveral = param?.includes('[') === true && !toolMessage.includes(param)
  return isOneOfSeveral ? `'${param}': ${toolMessage}` : toolMessage
}

/** What is said about a result: which call it is, and whether it was made for an earlier one. */
type ResultMeta = { requestId: string; idempotentReplayed?: true }

/** An object that is JSON already, which has members, with others in front of them. */
export function withMembers(printed: PrintedJson, members: object): PrintedJson {
  const [first = '', ...rest] = printed
  // The brace of the object, whether its text is one or is bytes.
  const behind = typeof first === 'string' ? first.slice(1) : first.subarray(1)
  return [`${JSON.stringify(members).slice(0, -1)},`, behind, ...rest]
}

function printBlock(block: ToolContent): (string | Buffer)[] {
  if ('json' in block) return [JSON.stringify(block.json)]
  if (block.type === 'text') return [JSON.stringify(block)]
  // Base64 has no character that JSON would escape.
  return ['{"type":"image","data":"', ...block.base64, `","mimeType":"${block.mimeType}"}`]
}

/** Joins adjacent strings, since each piece is a separate write. */
export function joined(pieces: PrintedJson): (string | Buffer)[] {
  const list: (string | Buffer)[] = []
  for (const piece of pieces) {
    const last = list.at(-1)
    if (typeof last === 'string' && typeof piece === 'string') list[list.length - 1] = last + piece
    else list.push(piece)
  }
  return list
}
