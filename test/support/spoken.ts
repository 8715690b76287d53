import type { ReceivedRequest, ScriptedAnswer } from './upstream.ts'

/** Output of the model that a test double simulates, independent of the vendor's format. */
export type Spoken = {
  /** Text, in the pieces of the stream. */
  text?: string[]
  reasoning?: string[]
  calls?: { id: string; name: string; args: object }[]
  /** Searches of the web by the vendor, before the text. */
  searches?: Searched[]
  /** Sources of parts of the text, which do not overlap; places are those of JavaScript. */
  citations?: Cited[]
  end?: 'stop' | 'length' | 'tool_calls' | 'content_filter'
  counts?: Counts
}
export type Page = { url: string; title: string }
/** A search; `error` is why it failed. */
export type Searched = { query: string; pages: Page[]; error?: string }
export type Cited = Page & { from: number; to: number }

/** Token counts: `input` includes cached tokens and cache writes, `output` includes reasoning. */
export type Counts = {
  input: number
  output: number
  cached?: number
  written?: number
  reasoning?: number
}

export const usualCounts: Counts = { input: 20, output: 7 }

/** A refusal of a request, which a test double sends in its vendor's format. */
export class Refused extends Error {
  readonly status: number
  readonly type: string

  constructor(status: number, type: string, message: string) {
    super(message)
    this.status = status
    this.type = type
  }
}

/** Builds a test double that refuses when `check` throws, and otherwise answers with `answer`. */
export function vendorDouble({ check, refusal, answer }: VendorDouble): Play {
  return (request) => {
    try {
      check(request)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      return { status: error.status, body: refusal(error) }
    }
    return answer(request)
  }
}

type Play = (request: ReceivedRequest) => ScriptedAnswer
type VendorDouble = {
  check: (request: ReceivedRequest) => void
  refusal: (refused: Refused) => object
  answer: Play
}

/** Throws when an object has other members than these. */
export function allowOnly(
  value: unknown,
  names: readonly string[],
  where: string,
  type: string,
): asserts value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Refused(400, type, `${where}: Input should be an object`)
  }
  const other = Object.keys(value).find((name) => !names.includes(name))
  if (other === undefined) return
  throw new Refused(400, type, `${where}.${other}: Extra inputs are not permitted`)
}

/** Cuts bytes into pieces, cycling through the given lengths. */
export function cut(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const length = Math.max(1, lengths[turn % lengths.length]!)
    pieces.push(bytes.subarray(at, at + length))
    at += length
  }
  return pieces
}
