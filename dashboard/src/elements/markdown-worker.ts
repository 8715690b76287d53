import { lexer, type Token } from 'marked'

/** Deeper parts are shown verbatim: browsers are slow with deeply nested elements. */
const depthMax = 40
/** Chat programs show the single line ends of models, e.g. of poems. */
const options = { gfm: true, breaks: true }
/** Maximum number of parts; those after them are shown verbatim. */
const partsMax = 20_000
let partsLeft = 0

/** Starts this file as a thread of its own: the time for a hostile text grows with the square of its length. */
export const startWorker = (): Worker => new Worker(import.meta.url, { type: 'module' })

function answer({ data }: MessageEvent<string>): void {
  partsLeft = partsMax
  try {
    postMessage(bounded(lexer(data, options), 0))
  } catch {
    // Thousands of nested quotations exceed the stack.
    postMessage(undefined)
  }
}

/** Parses a short text of this project, whose line ends are spaces. */
export const parseProse = (text: string): Token[] => lexer(text)

if (typeof document === 'undefined') addEventListener('message', answer)

type Part = { type?: string; raw?: string; text?: string; header?: unknown[]; rows?: unknown[] }

/** Copies tokens within the bounds, without their sources; what exceeds the bounds becomes its source. */
function bounded(value: unknown, depth: number): unknown {
  if (Array.isArray(value)) return value.map((one) => bounded(one, depth))
  if (typeof value !== 'object' || value === null) return value
  const { raw, ...members } = value as Part
  const { text, header = [], rows = [] } = members
  partsLeft -= 1
  const isTooLarge = depth > depthMax || header.length * rows.length > partsLeft || partsLeft < 0
  if (isTooLarge) return { type: 'escape', text: raw ?? text }
  const copied = Object.entries(members).map(([name, one]) => [name, bounded(one, depth + 1)])
  return Object.fromEntries(copied) as object
}
