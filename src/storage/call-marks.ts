import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeSync,
} from 'node:fs'
import { randomUUID } from 'node:crypto'
import { hostname, uptime } from 'node:os'
import { basename, join } from 'node:path'
import { isRunning } from './process-name.ts'
import type { UsageTable } from './tables.ts'

/** What is known of a call before a vendor is asked: columns of its row, and what it holds of leased budgets. */
export type CallMark = Pick<
  UsageTable,
  'id' | 'at' | 'account_id' | 'key_id' | 'face' | 'modality' | 'model'
> & { nano_usd?: number | undefined }

/** Marks of the calls that vendors work on, in a file of this process (docs/storage.md#budgets). */
export type CallMarks = {
  /**
   * Marks a call; the returned function takes the mark back once, when the row of the call is durable, or `clears` it from
   * the file when the call has none. Undefined when the mark cannot be written.
   */
  set(mark: CallMark): ((clears?: boolean) => void) | undefined
  /**
   * Shows other processes that this one runs; returns the name of its file, a new one if they have taken the last. It is
   * the name of the process in the leases of budgets.
   */
  touch(): string | undefined
  /** The number of marks that are set. */
  count(): number
  /**
   * Passes the marks of each ended process to `insert`, and the name of its file unless marks may have been lost with the
   * power; then removes the file. Rejects when `insert` does; the marks are then passed on again.
   */
  takeLeft(insert: (marks: readonly CallMark[], name?: string) => Promise<void>): Promise<void>
  /** Removes the file, unless calls are still marked, or the process may have left leases. */
  close(options?: { keepsFile?: boolean }): void
}

/** A mark has the longest ids and a model's name of `modelLengthMax`, each character in at most three bytes. */
const slotBytes = 1024
const modelLengthMax = 200
/** Far more than the connections of a process. Further calls have no mark. */
const slotsMax = 65_536
/** The file has this room from the start, for a disk that is full later. */
const preparedSlots = 128
/** Another process counts as ended when it has not touched its file for this time. */
const untouchedMs = 60_000

const prefix = 'gateway.calls-'
/** A slot without its first byte is empty. */
const cleared = Buffer.alloc(1)

/** Opens the marks of this process. A call has none when its mark cannot be written: the call matters more. */
export function openCallMarks(folder: string): CallMarks {
  const buffer = Buffer.alloc(slotBytes)
  let file = create(folder)
  let closed = false

  const isCurrent = (own: MarkFile) => own === file

  const set = (mark: CallMark) => {
    const own = file
    const slot = own?.free.pop() ?? (own && addSlot(own, isCurrent))
    if (own === undefined || slot === undefined) return undefined
    const bytes = buffer.write(textOf(mark))
    try {
      writeSync(own.descriptor, buffer, 0, bytes, slot.offset)
    } catch {
      own.free.push(slot)
      return undefined
    }
    slot.isWritten = true
    own.count += 1
    return slot.takeBack
  }
  /** Clears the marks that were taken back: until now they are marks of calls that have rows. */
  const clear = () => {
    if (file === undefined) return
    for (const slot of file.free) if (slot.isWritten) clearSlot(file, slot)
  }
  const touch = () => {
    const now = new Date()
    const { path, descriptor } = file ?? {}
    if (path !== undefined && succeeds(() => utimesSync(path, now, now))) return
    if (descriptor !== undefined) closeSync(descriptor)
    file = create(folder)
  }
  return {
    set,
    count: () => file?.count ?? 0,
    touch: () => {
      touch()
      return file && basename(file.path)
    },
    takeLeft: async (insert) => {
      if (closed) return
      touch()
      clear()
      for (const name of readdirSync(folder)) {
        const path = join(folder, name)
        if (!name.startsWith(prefix) || path === file?.path || !isLeft(name, path)) continue
        await insert(marksAt(path), isBeforeStart(path) ? undefined : name)
        succeeds(() => unlinkSync(path))
      }
    },
    close: ({ keepsFile = false } = {}) => {
      closed = true
      if (file === undefined) return
      const { path, descriptor, count } = file
      file = undefined
      closeSync(descriptor)
      if (count === 0 && !keepsFile) succeeds(() => unlinkSync(path))
    },
  }
}

type MarkFile = {
  path: string
  descriptor: number
  /** The number of slots that were used so far, and those of them that are free again. */
  slots: number
  free: Slot[]
  /** The marks that are set. */
  count: number
}

type Slot = {
  offset: number
  /** Whether the file has a mark here, although it may have been taken back. */
  isWritten: boolean
  takeBack: (clears?: boolean) => void
}

function clearSlot({ descriptor }: MarkFile, slot: Slot): void {
  slot.isWritten = !succeeds(() => writeSync(descriptor, cleared, 0, 1, slot.offset))
}

/** Each slot has one function for all its marks: a call makes no garbage that outlives it. */
function addSlot(own: MarkFile, isCurrent: (own: MarkFile) => boolean): Slot | undefined {
  if (own.slots >= slotsMax) return undefined
  const slot: Slot = {
    offset: own.slots++ * slotBytes,
    isWritten: false,
    takeBack: (clears = false) => {
      // Another process has taken the file, with this mark.
      if (!isCurrent(own)) return
      if (clears) clearSlot(own, slot)
      own.count -= 1
      own.free.push(slot)
    },
  }
  return slot
}

/**
 * No value before the model's name contains a space; JSON would cost as much as the write. The second line is empty or
 * an amount; older gateways read the first one only.
 */
function textOf(mark: CallMark): string {
  const { id, at, account_id, key_id, face, modality, model, nano_usd: held } = mark
  const short = model.length > modelLengthMax ? model.slice(0, modelLengthMax) : model
  const amount = held === undefined ? '' : `$${held}`
  return `${id} ${at} ${account_id} ${key_id} ${face} ${modality} ${short}\n${amount}\n`
}

function markOf(text: string): CallMark {
  const [line = '', amount = ''] = text.split('\n')
  const [id, at, account_id, key_id, face, modality, ...model] = line.split(' ')
  return {
    id,
    at: Number(at),
    account_id,
    key_id,
    face,
    modality,
    model: model.join(' '),
    nano_usd: /^\$\d+$/.test(amount) ? Number(amount.slice(1)) : undefined,
  } as CallMark
}

function create(folder: string): MarkFile | undefined {
  const path = join(folder, `${prefix}${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`)
  let descriptor: number | undefined
  const isMade = succeeds(() => {
    descriptor = openSync(path, 'wx', 0o600)
    writeSync(descriptor, Buffer.alloc(preparedSlots * slotBytes))
  })
  if (isMade) return { path, descriptor: descriptor!, slots: 0, free: [], count: 0 }
  if (descriptor !== undefined) closeSync(descriptor)
  return undefined
}

/** Whether the process of a file has ended, or has not touched the file for `untouchedMs`. */
function isLeft(name: string, path: string): boolean {
  const [, host, pid] = /^(.*)-(\d+)-\w+$/.exec(name.slice(prefix.length)) ?? []
  const isOurs = Number(pid) === process.pid
  if (host === hostname() && (isOurs || !isRunning(Number(pid)))) return true
  const touched = statSync(path, { throwIfNoEntry: false })?.mtimeMs
  return touched !== undefined && Date.now() - touched >= untouchedMs
}

/** Whether this machine has started since the file was touched. */
function isBeforeStart(path: string): boolean {
  return statSync(path).mtimeMs < Date.now() - uptime() * 1000
}

function marksAt(path: string): CallMark[] {
  const bytes = readFileSync(path)
  const found: CallMark[] = []
  for (let at = 0; at < bytes.length; at += slotBytes) {
    if (bytes[at] === 0) continue
    const mark = markOf(bytes.toString('utf8', at, at + slotBytes))
    // A power failure may leave a part of a mark.
    if (mark.model !== '' && Number.isSafeInteger(mark.at)) found.push(mark)
  }
  return found
}

function succeeds(work: () => unknown): boolean {
  try {
    work()
    return true
  } catch {
    return false
  }
}
