import { GatewayError } from '../core/error.ts'
import type { ImageFormat } from '../core/image/image.ts'

/** Common file systems allow 255 bytes: the rest is for a counter and an extension. */
const bytesMax = 200

/** Separators, their lookalikes, and characters that Unicode normalisation turns into one. */
const separators =
  /[/\\\u2044\u2215\u2216\u2571\u2572\u27cb\u27cd\u29f5\u29f8\u29f9\ufe68\uff0f\uff3c]/u
/** Characters that Windows refuses or interprets, as in drives and alternate data streams. */
const special = /[<>:"|?*\ua789\uff1a]/u
/** Control characters, and invisible ones that make a name look like another. */
const invisible = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/u
/** Device names of Windows, with any extension. */
const reserved = /^(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)/iu

const rules: readonly { isBroken: (name: string) => boolean; text: string }[] = [
  { isBroken: (name) => name.trim() === '', text: 'must not be blank' },
  { isBroken: (name) => separators.test(name), text: 'must have no path separator' },
  { isBroken: (name) => name.startsWith('.'), text: 'must not begin with a dot' },
  {
    isBroken: (name) => /[. ]$/.test(name) || name.startsWith(' '),
    text: 'must not begin with a space or end with a space or dot',
  },
  { isBroken: (name) => special.test(name), text: 'must have none of < > : " | ? *' },
  {
    isBroken: (name) => !name.isWellFormed() || invisible.test(name),
    text: 'must have no control or invisible characters',
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

/**
 * Throws `invalid_value` unless a name is a plain file name on every system
 * (docs/behaviour.md#preview-files).
 */
export function checkFileName(name: string): void {
  const rule = rules.find(({ isBroken }) => isBroken(name))
  if (rule === undefined) return
  throw new GatewayError('invalid_value', `'filename' ${rule.text}.`, { param: 'filename' })
}

const extensions: Record<ImageFormat, readonly string[]> = {
  png: ['.png'],
  jpeg: ['.jpg', '.jpeg'],
  webp: ['.webp'],
}

/** The format of a name's extension; undefined for any other extension and for none. */
export function formatOf(name: string): ImageFormat | undefined {
  const own = extensionOf(name).toLowerCase()
  // `Object.entries` widens the keys to strings, but they are those of the record.
  const formats = Object.entries(extensions) as [ImageFormat, readonly string[]][]
  return formats.find(([, fitting]) => fitting.includes(own))?.[0]
}

/** A file name in two parts. */
export type SplitName = { stem: string; extension: string }

/** The name in two parts; an extension that is missing or not of this format is corrected. */
export function splitName(name: string, format: ImageFormat): SplitName {
  const own = extensionOf(name)
  const stem = own === '' ? name : name.slice(0, -own.length)
  const fitting = extensions[format]
  return { stem, extension: fitting.includes(own.toLowerCase()) ? own : fitting[0]! }
}

/** An extension must begin with a letter: `.2` at the end of `v1.2` is none. */
function extensionOf(name: string): string {
  return /\.[a-z][a-z0-9]{0,9}$/i.exec(name)?.[0] ?? ''
}
