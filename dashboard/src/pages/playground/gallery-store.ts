import { signal } from '@preact/signals'

/** A picture created in this visit. */
export type MadePicture = {
  id: number
  blob: Blob
  /** Object URL, revoked when the picture is removed. */
  url: string
  prompt: string
  model: string
  requestId: string | undefined
}

const picturesMax = 36
const bytesMax = 128 * 1024 * 1024

/**
 * Pictures of this visit, newest first. The oldest are removed when the number or the total size is too
 * large.
 */
export const gallery = signal<readonly MadePicture[]>([])
let made = 0

type New = Omit<MadePicture, 'id' | 'url'>

/** Adds the pictures of one call, unless they are there already. */
export function keep(pictures: readonly New[]): readonly MadePicture[] {
  const id = pictures[0]?.requestId
  const known = gallery.value.filter(({ requestId }) => id !== undefined && requestId === id)
  if (known.length > 0 && known.length === pictures.length) return known
  const added = pictures.map((one) => ({ ...one, id: ++made, url: URL.createObjectURL(one.blob) }))
  const all = [...added, ...gallery.value]
  let bytes = 0
  const kept = all.filter(({ blob }, index) => {
    bytes += blob.size
    return index < added.length || (index < picturesMax && bytes <= bytesMax)
  })
  release(all.filter((one) => !kept.includes(one)))
  gallery.value = kept
  return added
}

export function forgetAll(): void {
  release(gallery.value)
  gallery.value = []
}

function release(pictures: readonly MadePicture[]): void {
  for (const { url } of pictures) URL.revokeObjectURL(url)
}

/** The picture that is being dragged. */
export const dragged = signal<Blob | undefined>(undefined)

/** Decodes base64; the media type comes from the first byte. */
export function blobOf(base64: string): Blob {
  const text = atob(base64)
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0))
  return new Blob([bytes], { type: typesByFirst[text[0] ?? ''] ?? 'image/svg+xml' })
}

const typesByFirst: Readonly<Record<string, string>> = {
  '\u00ff': 'image/jpeg',
  R: 'image/webp',
  '\u0089': 'image/png',
}

/** Reads a file as a data URL. */
export function dataUrlOf(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    // readAsDataURL always results in a string.
    reader.addEventListener('load', () => resolve(reader.result as string))
    reader.addEventListener('error', () => reject(new Error('The file cannot be read.')))
    reader.readAsDataURL(file)
  })
}
