import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { unlessGone } from './folder.ts'

/** Parts of SQLite's write-ahead log (sqlite.org/fileformat2.html#the_write_ahead_log). */
const headerBytes = 32
const frameHeaderBytes = 24
const magics: ReadonlySet<number> = new Set([0x377f0682, 0x377f0683])

/**
 * What is wrong with a write-ahead log, in words without a full stop; undefined when it is sound.
 * SQLite reads it up to the first frame whose checksum does not fit, and drops the rest without a
 * word. That is as it should be for what a process had not committed when it ended; but commits
 * behind such a frame are lost. Of a log above `bytesMax` only the header is checked.
 */
export function logDamage(path: string, bytesMax: number): string | undefined {
  const found = unlessGone(() => read(path, bytesMax))
  if (found === undefined || found.size === 0) return undefined
  const { size, log } = found
  if (log.length < headerBytes) return 'its log is cut off in its header'
  const sums = checksum(log, 0, 24, log.readUInt32BE(0) === 0x377f0683, [0, 0])
  const isSound =
    magics.has(log.readUInt32BE(0)) && isEqual(sums, log.readUInt32BE(24), log.readUInt32BE(28))
  const frames = Math.floor((size - headerBytes) / (frameHeaderBytes + 4096))
  if (!isSound) return `the header of its log is damaged, so that up to ${frames} pages are lost`
  const lost = commitsBehindGap(log, sums)
  return lost === 0
    ? undefined
    : `its log is damaged in the middle, so that ${lost} commits are lost`
}

/** Commits of the log's own generation behind the first frame that does not fit. */
function commitsBehindGap(log: Buffer, [first, second]: Sums): number {
  const isBigEndian = log.readUInt32BE(0) === 0x377f0683
  const pageBytes = log.readUInt32BE(8)
  const salts = log.subarray(16, 24)
  let sums: Sums = [first, second]
  let isWhole = true
  let lost = 0
  const frameBytes = frameHeaderBytes + pageBytes
  for (let at = headerBytes; at + frameBytes <= log.length; at += frameBytes) {
    const isOwn = log.subarray(at + 8, at + 16).equals(salts)
    if (isWhole) {
      sums = checksum(log, at, at + 8, isBigEndian, sums)
      sums = checksum(log, at + frameHeaderBytes, at + frameBytes, isBigEndian, sums)
      isWhole = isOwn && isEqual(sums, log.readUInt32BE(at + 16), log.readUInt32BE(at + 20))
      // Frames of an earlier generation follow a log that was begun anew; they are in the file.
    } else if (isOwn && log.readUInt32BE(at + 4) !== 0) lost++
  }
  return lost
}

type Sums = [number, number]

function checksum(log: Buffer, from: number, to: number, isBigEndian: boolean, sums: Sums): Sums {
  let [first, second] = sums
  for (let at = from; at < to; at += 8) {
    const a = isBigEndian ? log.readInt32BE(at) : log.readInt32LE(at)
    const b = isBigEndian ? log.readInt32BE(at + 4) : log.readInt32LE(at + 4)
    first = (first + a + second) | 0
    second = (second + b + first) | 0
  }
  return [first, second]
}

function isEqual([first, second]: Sums, wantedFirst: number, wantedSecond: number): boolean {
  return first >>> 0 === wantedFirst && second >>> 0 === wantedSecond
}

function read(path: string, bytesMax: number): { size: number; log: Buffer } {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const buffer = Buffer.alloc(size > bytesMax ? headerBytes : size)
    return { size, log: buffer.subarray(0, readSync(file, buffer, 0, buffer.length, 0)) }
  } finally {
    closeSync(file)
  }
}
