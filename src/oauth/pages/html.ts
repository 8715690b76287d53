/** A private key of `Html`: only this file can create markup, so no text becomes markup unescaped. */
const written = Symbol('markup')

/** HTML that is safe to send. */
export type Html = { readonly [written]: string }
type Part = Html | string | number | undefined | readonly Html[]

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A template tag that escapes values unless they are `Html`; undefined is an empty string. */
export function markup(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const all = texts.map((text, index) => text + markupOf(parts[index]))
  return { [written]: all.join('') }
}

/** A `<style>` element with the unchanged style sheet. Throws if the sheet contains `<`. */
export function styleElement(sheet: string): Html {
  if (sheet.includes('<')) throw new Error('A style sheet in a page must have no "<".')
  return { [written]: `<style>${sheet}</style>` }
}

/** The HTML as text. */
export function textOf(html: Html): string {
  return html[written]
}

function markupOf(part: Part): string {
  if (part === undefined) return ''
  if (typeof part === 'string' || typeof part === 'number') return escaped(String(part))
  if (written in part) return part[written]
  return part.map(textOf).join('')
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => entities[sign]!)
}
