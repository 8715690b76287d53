import { GatewayError } from '../core/error.ts'
import type { ImageFormat } from '../core/image/image.ts'

/** Common file systems allow 255 bytes; the difference leaves space for a counter and an extension. */
const bytesMax = 200

/** Path separators, similar characters, and characters that Unicode normalization turns into a separator. */
const separators =
  /[/\\\u2044\u2215\u2216\u2571\u2572\u27cb\u27cd\u29f5\u29f8\u29f9\ufe68\uff0f\uff3c]/u
/** Characters that Windows refuses or interprets, as in drives and alternate data streams. */
const special = /[<>:"|?*\ua789\uff1a]/u
/** Control characters, and invisible characters that make one name look like another. */
const invisible = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/u
/** Device names of Windows, with any extension. */
const reserved = /^(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)/iu

const rules: readonly { isBroken: (name: string) => boolean; text: string }[] = [
  { isBroken: (name) => name.trim() === '', text: 'must not be blank' },
  { isBroken: (name) => separators.test(name), text: 'must not contain a path separator' },
  { isBroken: (name) => name.startsWith('.'), text: 'must not begin with a dot' },
  {
    isBroken: (name) => /[. ]$/.test(name) || name.startsWith(' '),
    text: 'must not begin with a space or end with a space or dot',
  },
  { isBroken: (name) => special.test(name), text: 'must not contain any of < > : " | ? *' },
  {
    isBroken: (name) => !name.isWellFormed() || invisible.test(name),
    text: 'must not contain control or invisible characters',
  },
  {
    isBroken: (name) => reserved.test(name.normalize('NFKC')),
    text: 'must not be a device name such as CON',
  },
  {
    isBroken: (name) => Buffer.byteLength(name) > bytesMax,
    text: `must have at most ${bytesMax} bytes`,
  },
]

/** Throws `invalid_value` for a name that a system forbids (docs/behaviour.md#preview-files). */
export function checkFileName(name: string): void {
  const rule = rules.find(({ isBroken }) => isBroken(name))
  if (rule === undefined) return
  throw new GatewayError('invalid_value', `'filename' ${rule.text}.`, { param: 'filename' })
}

const extensions: Record<ImageFormat, readonly string[]> = {
  png: ['.png'],
  jpeg: ['.jpg', '.jpeg'],
  webp: ['.webp'],
  svg: ['.svg'],
}

/** The format of a name's extension; undefined for any other extension and for none. */
export function formatOf(name: string): ImageFormat | undefined {
  const own = extensionOf(name).toLowerCase()
  // `Object.entries` widens the keys to strings.
  const formats = Object.entries(extensions) as [ImageFormat, readonly string[]][]
  return formats.find(([, fitting]) => fitting.includes(own))?.[0]
}

export type SplitName = { stem: string; extension: string }

/** Splits a name in two parts, and sets the extension of the format if it is missing or wrong. */
export function splitName(name: string, format: ImageFormat): SplitName {
  const own = extensionOf(name)
  const stem = own === '' ? name : name.slice(0, -own.length)
  const fitting = extensions[format]
  return { stem, extension: fitting.includes(own.toLowerCase()) ? own : fitting[0]! }
}

/** The extension of a name; it begins with a letter, so `v1.2` has none. */
function extensionOf(name: string): string {
  return /\.[a-z][a-z0-9]{0,9}$/i.exec(name)?.[0] ?? ''
}
