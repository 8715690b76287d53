import { isUtf8 } from 'node:buffer'
import { decodeBase64, decodedLength } from '../../bytes/base64.ts'
import type { Pieces } from '../../bytes/pieces.ts'
import type { Picture, Pixels } from './image.ts'

/** The most bytes of a vector picture; those of vendors have 10 to 500 kB. */
const svgBytesMax = 10 * 1024 * 1024

/** Characters that contain the root element of every real file. */
const headCharactersMax = 65_536
/** Characters of base64 that show whether a file may be an SVG. */
const beginningCharacters = 128

/**
 * The root element, after what may precede it: a byte order mark, the XML declaration, comments, and a document type
 * without entities, which could expand to gigabytes. No two alternatives match one text, so the search is linear.
 */
const rootPattern =
  /^\ufeff?(?:\s|<\?xml\s[^>]*>|<!--(?:[^-]|-(?!->))*-->|<!DOCTYPE\s+svg(?=[\s>])[^[>]*>)*(<svg(?=[\s/>])(?:[^"'>]|"[^"]*"|'[^']*')*>)/
const namespace = /\sxmlns\s*=\s*["']http:\/\/www\.w3\.org\/2000\/svg["']/

/** Whether a file begins like an SVG. */
export function isSvg(base64: Pieces): boolean {
  const beginning = decodeBase64(base64, beginningCharacters).toString('utf8')
  return /^\ufeff?\s*<(?:svg[\s/>]|\?xml\s|!--|!doctype\s+svg)/i.test(beginning)
}

/**
 * Reads a vector picture without rendering it, scripts and references included; undefined unless the file is an SVG
 * from the root element to its end (SVG 2, section 5.1.2).
 */
export function readSvg(base64: Pieces): Picture | undefined {
  if (!isSvg(base64) || decodedLength(base64) > svgBytesMax) return undefined
  const bytes = decodeBase64(base64)
  if (!isUtf8(bytes)) return undefined
  const head = bytes.toString('utf8', 0, headCharactersMax)
  const [all, root] = rootPattern.exec(head) ?? []
  if (all === undefined || root === undefined || !namespace.test(root)) return undefined
  const end = bytes.toString('utf8', Math.max(0, bytes.length - beginningCharacters))
  const isClosed = root.endsWith('/>') ? head.trimEnd() === all : /<\/svg\s*>\s*$/.test(end)
  return isClosed ? { base64, format: 'svg', ...sizeOf(root) } : undefined
}

/** The size of a picture without dimensions in browsers (CSS 2.2, section 10.3.2). */
const defaultSize: Pixels = { width: 300, height: 150 }
const sideMax = 1_000_000

/** The size in `width` and `height`, else that of `viewBox`. */
function sizeOf(root: string): Pixels {
  const valueOf = (name: string) =>
    new RegExp(`\\s${name}\\s*=\\s*["']([^"']*)["']`).exec(root)?.[1]?.trim() ?? ''
  const pixels = (text: string) => Math.round(Number(/^(\d+(?:\.\d+)?)(?:px)?$/.exec(text)?.[1]))
  const [, , across = '', down = ''] = valueOf('viewBox').split(/[\s,]+/)
  const sizes = [
    { width: pixels(valueOf('width')), height: pixels(valueOf('height')) },
    { width: pixels(across), height: pixels(down) },
  ]
  const isSide = (side: number) => side >= 1 && side <= sideMax
  return sizes.find(({ width, height }) => isSide(width) && isSide(height)) ?? defaultSize
}
