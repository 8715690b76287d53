import type { Pieces } from './json-rpc.ts'

export type TextBlock = { type: 'text'; text: string }
/** A picture as base64 text, in the pieces in which it arrived. */
export type ImageBlock = { type: 'image'; base64: readonly Buffer[]; mimeType: string }
/** What a tool answers; `json` is a block of any other type, as it is. */
export type ToolContent = TextBlock | ImageBlock | { json: object }

/** A result that is JSON already: megabytes of base64 are not printed again. */
export type PrintedResult = { printed: Pieces }

/** The blocks of a tool as the result of `tools/call`. */
export function printContent(blocks: readonly ToolContent[]): PrintedResult {
  const printed = blocks.flatMap((block, index) => [index === 0 ? '' : ',', ...printBlock(block)])
  return { printed: ['{"content":[', ...printed, ']}'] }
}

/** A sentence that tells a model what went wrong, so that it can correct itself. */
export function printFailure(text: string): PrintedResult {
  return { printed: [JSON.stringify({ content: [{ type: 'text', text }], isError: true })] }
}

function printBlock(block: ToolContent): (string | Buffer)[] {
  if ('json' in block) return [JSON.stringify(block.json)]
  if (block.type === 'text') return [JSON.stringify(block)]
  // Base64 has no character that JSON would escape.
  return ['{"type":"image","data":"', ...block.base64, `","mimeType":"${block.mimeType}"}`]
}

/** Joins neighbouring texts, since each piece is a write of its own. */
export function joined(pieces: Pieces): (string | Buffer)[] {
  const list: (string | Buffer)[] = []
  for (const piece of pieces) {
    const last = list.at(-1)
    if (typeof last === 'string' && typeof piece === 'string') list[list.length - 1] = last + piece
    else list.push(piece)
  }
  return list
}
