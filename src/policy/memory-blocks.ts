import { piecesLength, type Pieces } from '../bytes/pieces.ts'

/** A block holds a piece of an answer; the last block of an answer is half empty on average. */
export const blockBytes = 16 * 1024
const blocksPerSlab = 64

export type StoredBytes = { length: number; blocks: readonly Buffer[] }

/** The memory that bytes take in blocks. */
export function storedSize(pieces: Pieces): number {
  return Math.ceil(piecesLength(pieces) / blockBytes) * blockBytes
}

/**
 * Memory for bytes that live long. V8 frees such Buffers only when it marks its whole heap, and it does so each
 * time that 64 MiB were allocated; these blocks are allocated once and reused.
 */
export function createMemoryBlocks() {
  const free: Buffer[] = []
  const nextBlock = (): Buffer => {
    if (free.length === 0) {
      const slab = Buffer.allocUnsafeSlow(blocksPerSlab * blockBytes)
      for (let at = 0; at < slab.length; at += blockBytes)
        free.push(slab.subarray(at, at + blockBytes))
    }
    return free.pop()!
  }
  return {
    store: (pieces: Pieces): StoredBytes => {
      const length = piecesLength(pieces)
      const blocks = Array.from({ length: storedSize(pieces) / blockBytes }, nextBlock)
      let at = 0
      for (const piece of pieces) {
        for (let from = 0; from < piece.length;) {
          const copied = piece.copy(blocks[Math.floor(at / blockBytes)]!, at % blockBytes, from)
          from += copied
          at += copied
        }
      }
      return { length, blocks }
    },
    /** A copy, since the blocks may be reused while an answer is being sent. */
    read: ({ length, blocks }: StoredBytes): Buffer => {
      const bytes = Buffer.allocUnsafeSlow(length)
      blocks.forEach((block, index) => block.copy(bytes, index * blockBytes))
      return bytes
    },
    release: ({ blocks }: StoredBytes): void => {
      for (const block of blocks) free.push(block)
    },
  }
}
