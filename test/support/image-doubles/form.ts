import type { ReceivedRequest } from '../upstream.ts'

/** A file of a form. */
export type FormFile = { field: string; filename: string; type: string; bytes: Buffer }
export type Form = { fields: Record<string, string>; files: FormFile[] }

/** The parts of a multipart form; undefined if the request has none. Throws when the form is broken. */
export function readForm({ headers, bytes }: ReceivedRequest): Form | undefined {
  const found = /^multipart\/form-data; boundary=(\S+)$/.exec(headers['content-type'] ?? '')
  if (found === null) return undefined
  const parts = bytes.toString('latin1').split(`--${found[1]}`)
  if (parts.shift() !== '' || parts.pop() !== '--\r\n') throw new Error('the form has no end')
  const form: Form = { fields: {}, files: [] }
  for (const part of parts) {
    const [, head = '', content = ''] = /^\r\n(.*?)\r\n\r\n(.*)\r\n$/s.exec(part) ?? []
    const [, field = ''] = /; name="([^"]*)"/.exec(head) ?? []
    const [, filename] = /; filename="([^"]*)"/.exec(head) ?? []
    const [, type = ''] = /^Content-Type: (.*)$/im.exec(head) ?? []
    if (field === '') throw new Error('a part of the form has no name')
    const value = Buffer.from(content, 'latin1')
    if (filename !== undefined) form.files.push({ field, filename, type, bytes: value })
    else if (field in form.fields) throw new Error(`'${field}' is sent twice`)
    else form.fields[field] = value.toString('utf8')
  }
  return form
}
