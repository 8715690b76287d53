import { computed, signal } from '@preact/signals'
import type { Mode } from '../../data/calling.ts'
import { playgroundHistory, signedIn } from '../../data/session.ts'
import type { ChatForm, Turn } from './chat-request.ts'
import type { Choice } from './image-request.ts'
import type { Receipt } from './making.ts'

/** A call for pictures or a conversation, as this browser keeps it for the person. */
export type Entry = {
  id: string
  mode: Mode
  models: readonly string[]
} & (
  | { kind: 'pictures'; form: Choice; made: Receipt; pictures: readonly Blob[] }
  | { kind: 'chat'; form: ChatForm; turns: readonly Turn[] }
)

/** What a stored entry has beside the entry. */
type Stored = Entry & { person: string; atMs: number; bytes: number }

export const entriesMax = 100
export const megabytesMax = 64
const bytesMax = megabytesMax * 1024 * 1024

const personId = () => signedIn.value?.person.id ?? ''

const switches = signal(0)
/** Whether this person has switched the history on in this browser. */
export const isKept = computed(() => switches.value >= 0 && isOn())
const isOn = () => localStorage.getItem(playgroundHistory) === personId()

/** Switches the history on. */
export function startHistory(): void {
  localStorage.setItem(playgroundHistory, personId())
  switches.value += 1
}

/** Deletes the history and switches it off. */
export async function deleteHistory(): Promise<void> {
  localStorage.removeItem(playgroundHistory)
  switches.value += 1
  await done(indexedDB.deleteDatabase(playgroundHistory))
}

/** Stores an entry in place of the one with its id, if the history is on, and removes the oldest above the limits. */
export async function record(entry: Entry): Promise<void> {
  // Another tab may have deleted the history, or the person has signed out there.
  if (!isOn()) return
  const pictures = entry.kind === 'pictures' ? entry.pictures : []
  const { length } = JSON.stringify(entry)
  const bytes = pictures.reduce((sum, { size }) => sum + size, 2 * length)
  if (bytes > bytesMax / 4) return
  const own = { person: personId(), atMs: Date.now(), bytes }
  // Without room on the disk, the history has no further entries.
  await inStore('readwrite', async (store) => {
    await done(store.put({ ...entry, ...own }))
    let total = 0
    for (const [index, one] of (await newestFirst(store)).entries()) {
      total += one.bytes
      if (index >= entriesMax || total > bytesMax) store.delete(one.id)
    }
  }).catch(() => undefined)
}

/** The entries of the person, newest first. */
export async function loadEntries(): Promise<readonly Stored[]> {
  const all = await inStore('readonly', newestFirst)
  return all.filter(({ person }) => person === personId())
}

async function newestFirst(store: IDBObjectStore): Promise<Stored[]> {
  const all: Stored[] = await done(store.getAll())
  return all.toSorted((one, other) => other.atMs - one.atMs)
}

/** Opens the database for one transaction, so that another tab can delete it. */
async function inStore<T>(
  mode: IDBTransactionMode,
  use: (store: IDBObjectStore) => Promise<T>,
): Promise<T> {
  const opening = indexedDB.open(playgroundHistory, 1)
  opening.addEventListener('upgradeneeded', () =>
    opening.result.createObjectStore('entries', { keyPath: 'id' }),
  )
  const database = await done(opening)
  try {
    return await use(database.transaction('entries', mode).objectStore('entries'))
  } finally {
    // It closes after its transaction.
    database.close()
  }
}

function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result))
    request.addEventListener('error', () => reject(request.error ?? new Error('no storage')))
  })
}
