/** Bytes in the chunks in which they arrived, since joining megabytes costs more than iterating. */
export type Pieces = readonly Buffer[]

/** The total number of bytes. */
export function piecesLength(pieces: Pieces): number {
  return pieces.reduce((sum, { length }) => sum + length, 0)
}

/** The bytes from `start` up to `end`, as views of the same memory. */
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

/** All pieces as one Buffer; a single piece is not copied. */
export function joinPieces(pieces: Pieces): Buffer {
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
}

/** The first offset of `wanted` from `start` on, also across pieces; -1 when it is not found. */
export function indexInPieces(pieces: Pieces, wanted: Buffer, start: number): number {
  const overlap = wanted.length - 1
  let pieceStart = 0
  for (const [index, piece] of pieces.entries()) {
    const from = Math.max(0, start - pieceStart)
    const within = from < piece.length ? piece.indexOf(wanted, from) : -1
    if (within >= 0) return pieceStart + within
    const end = pieceStart + piece.length
    if (overlap > 0 && index < pieces.length - 1 && end > start) {
      // A match may begin in this piece and end in a later piece.
      const seamStart = Math.max(start, end - overlap)
      const seam = Buffer.concat(slicePieces(pieces, seamStart, end + overlap))
      const over = seam.indexOf(wanted)
      if (over >= 0) return seamStart + over
    }
    pieceStart = end
  }
  return -1
}
