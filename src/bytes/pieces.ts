/** Bytes in the pieces in which they came: to put megabytes together costs more than to walk over them. */
export type Pieces = readonly Buffer[]

/** How many bytes they are together. */
export function piecesLength(pieces: Pieces): number {
  return pieces.reduce((sum, { length }) => sum + length, 0)
}

/** The bytes from `start` to `end` as pieces that share their memory. */
export function slicePieces(pieces: Pieces, start: number, end = Infinity): Buffer[] {
  const sliced: Buffer[] = []
  let pieceStart = 0
  for (const piece of pieces) {
    if (pieceStart >= end) break
    const [from, to] = [Math.max(0, start - pieceStart), Math.min(piece.length, end - pieceStart)]
    if (from < to) sliced.push(piece.subarray(from, to))
    pieceStart += piece.length
  }
  return sliced
}

/** All of them in one; the same memory where it is one already. */
export function joinPieces(pieces: Pieces): Buffer {
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
}

/** Where `wanted` begins at or behind `start`, also over the ends of pieces; -1 when it does nowhere. */
export function indexInPieces(pieces: Pieces, wanted: Buffer, start: number): number {
  const overlap = wanted.length - 1
  let pieceStart = 0
  for (const [index, piece] of pieces.entries()) {
    const from = Math.max(0, start - pieceStart)
    const within = from < piece.length ? piece.indexOf(wanted, from) : -1
    if (within >= 0) return pieceStart + within
    const end = pieceStart + piece.length
    if (overlap > 0 && index < pieces.length - 1 && end > start) {
      // What begins in this piece and ends in a later one.
      const seamStart = Math.max(start, end - overlap)
      const seam = Buffer.concat(slicePieces(pieces, seamStart, end + overlap))
      const over = seam.indexOf(wanted)
      if (over >= 0) return seamStart + over
    }
    pieceStart = end
  }
  return -1
}
