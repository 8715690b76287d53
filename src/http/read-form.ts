import { randomUUID } from 'node:crypto'
import type { Pieces } from '../bytes/pieces.ts'
import type { LeftTexts } from '../core/image/image.ts'
import type { FormPart } from './form-parts.ts'

/** One field of a form. A file's value is a data URL with a ticket in the place of its base64. */
export type FormField = { name: string; value: string; file: boolean }

/** How the form of an operation becomes its JSON body. */
export type FormReading = {
  /** Throws `invalid_value`. */
  bodyOf: (fields: readonly FormField[]) => object
  /** The form's own name of a member of the body, where it has another. */
  names: Readonly<Record<string, string>>
}

/** The fields of a form, and the base64 of its files by ticket. */
export function fieldsOf(parts: readonly FormPart[]): { fields: FormField[]; texts: LeftTexts } {
  const texts = new Map<string, Pieces>()
  const fields = parts.map((part): FormField => {
    const { name } = part
    if ('text' in part) return { name, value: part.text, file: false }
    const ticket = randomUUID()
    texts.set(ticket, part.base64)
    // A client's media type may be wrong; the format is read from the bytes later.
    return { name, value: `data:application/octet-stream;base64,${ticket}`, file: true }
  })
  return { fields, texts }
}
