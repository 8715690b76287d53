import { ProviderFailure } from '../../core/failure.ts'
import { parseJson, type PieceReader } from '../transport/upstream.ts'

/** A JSON answer without its base64 texts: `"@0"`, `"@1"`, … stand for `texts[i]`. */
export type SplicedJson = { json: unknown; texts: Buffer[][] }

const quote = 0x22
const backslash = 0x5c

/**
 * Reads JSON whose members named `key` hold megabytes of base64: these are kept as the bytes that
 * arrived, and only the few bytes around them are parsed (docs/performance.md#large-base64-texts).
 * `finish` throws a ProviderFailure `malformed`.
 */
export function base64Reader(key: string): PieceReader<SplicedJson> {
  const needle = Buffer.from(`"${key}"`)
  const around: Buffer[] = []
  const texts: Buffer[][] = []
  let carried: Buffer | undefined
  let inside = false

  const readText = (piece: Buffer): Buffer | undefined => {
    const end = piece.indexOf(quote)
    texts.at(-1)!.push(end < 0 ? piece : piece.subarray(0, end))
    if (end < 0) return undefined
    inside = false
    return piece.subarray(end)
  }

  /** Where the text of the next `key` starts, or from where to keep bytes for the next piece. */
  const findText = (piece: Buffer): { start: number } | { carryFrom: number } => {
    for (let from = 0; ;) {
      const at = piece.indexOf(needle, from)
      if (at < 0) return { carryFrom: Math.max(from, piece.length - needle.length + 1) }
      let next = at + needle.length
      while (next < piece.length && isSpaceOrColon(piece[next]!)) next++
      if (next === piece.length) return { carryFrom: at }
      if (piece[next] === quote) return { start: next + 1 }
      from = next
    }
  }

  const readAround = (piece: Buffer): Buffer | undefined => {
    const found = findText(piece)
    if ('carryFrom' in found) {
      around.push(piece.subarray(0, found.carryFrom))
      carried = piece.subarray(found.carryFrom)
      return undefined
    }
    const { start } = found
    around.push(piece.subarray(0, start), Buffer.from(`@${texts.length}`))
    texts.push([])
    inside = true
    return piece.subarray(start)
  }

  return {
    push: (piece) => {
      let rest: Buffer | undefined = carried === undefined ? piece : Buffer.concat([carried, piece])
      carried = undefined
      while (rest !== undefined && rest.length > 0)
        rest = inside ? readText(rest) : readAround(rest)
    },
    finish: () => {
      if (carried !== undefined) around.push(carried)
      if (inside) throw new ProviderFailure('malformed', 'The answer breaks off.')
      return { json: parseJson(Buffer.concat(around)), texts: texts.map(unescaped) }
    },
  }
}

function isSpaceOrColon(byte: number): boolean {
  return byte === 0x3a || byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

/** Some encoders write `\/`; base64 has nothing else to escape. */
function unescaped(text: Buffer[]): Buffer[] {
  if (!text.some((piece) => piece.includes(backslash))) return text
  const whole = parseJson(Buffer.concat([Buffer.from('"'), ...text, Buffer.from('"')]))
  return [Buffer.from(String(whole))]
}
