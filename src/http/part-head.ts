import { GatewayError } from '../core/error.ts'

/** What a part of a form says about itself. */
export type PartHead = { name: string; isFile: boolean; inBase64: boolean }

/** The headers of a part in latin1, by name in small letters. */
export type PartHeaders = Readonly<Record<string, readonly string[] | undefined>>

const nameLengthMax = 200
/** One parameter of a header, in quotes or not; what stands in quotes may be escaped. */
const parameter = /\s*;\s*([\w-]+\*?)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/y

/** Reads the head of a part (RFC 7578 section 4). Throws `invalid_value`. */
export function readPartHead(headers: PartHeaders): PartHead {
  const [disposition = ''] = headers['content-disposition'] ?? []
  const given = parametersOf(disposition)
  const name = given.get('name')
  if (!/^form-data\s*(?:;|$)/i.test(disposition) || name === undefined || name === '') {
    const text =
      'A part of the form has no name. Send each with Content-Disposition: form-data; name="…".'
    throw new GatewayError('invalid_value', text)
  }
  if (name.length > nameLengthMax) {
    const text = `A part of the form has a name of more than ${nameLengthMax} characters.`
    throw new GatewayError('invalid_value', text)
  }
  const [encoding = 'binary'] = headers['content-transfer-encoding'] ?? []
  const [contentType = ''] = headers['content-type'] ?? []
  const isFile = given.has('filename') || given.has('filename*')
  checkReadable({ name, isFile, encoding, charset: parametersOf(contentType).get('charset') })
  return { name, isFile, inBase64: encoding.trim().toLowerCase() === 'base64' }
}

type Written = { name: string; isFile: boolean; encoding: string; charset: string | undefined }

function checkReadable({ name, isFile, encoding, charset = 'utf-8' }: Written): void {
  if (!/^\s*(?:7bit|8bit|binary|base64)\s*$/i.test(encoding)) {
    throw unread(name, 'Content-Transfer-Encoding', 'Send the bytes themselves.')
  }
  if (!isFile && !/^(?:utf-?8|us-ascii)$/i.test(charset)) {
    throw unread(name, 'charset', 'Send UTF-8.')
  }
}

function unread(name: string, what: string, remedy: string): GatewayError {
  const text = `The ${what} of '${name}' is not read. ${remedy}`
  return new GatewayError('invalid_value', text, { param: name })
}

function parametersOf(header: string): Map<string, string> {
  const found = new Map<string, string>()
  parameter.lastIndex = Math.max(0, header.indexOf(';'))
  for (let match = parameter.exec(header); match !== null; match = parameter.exec(header)) {
    const [, name = '', quoted, plain = ''] = match
    const text = quoted === undefined ? plain : unescaped(quoted)
    // The first counts, so that nobody else reads another one.
    if (!found.has(name.toLowerCase())) found.set(name.toLowerCase(), text)
  }
  return found
}

/** Browsers write quotes and line breaks as `%22`, `%0D` and `%0A`, others a backslash before them. */
function unescaped(quoted: string): string {
  const text = Buffer.from(quoted, 'latin1').toString()
  return text
    .replaceAll(/\\(["\\])/g, '$1')
    .replaceAll(/%(22|0D|0A)/gi, (_all, code: string) => String.fromCharCode(parseInt(code, 16)))
}
