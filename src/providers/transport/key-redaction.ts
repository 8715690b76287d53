/** Takes keys out of a text, and tells whether it may hold one. */
export type KeyRedaction = {
  redact(text: string): string
  /** A quick look: false is sure. */
  mayHold(text: string): boolean
}

const removed = '[removed]'
/** So much of a key's beginning or end is as secret as the key: vendors cut what they quote. */
const partCharacters = 12
/** A shorter key is a placeholder of a server without keys, such as `none`, or a word of a sentence. */
const keyCharactersMin = 8

/**
 * Finds keys as they are, in base64 or hexadecimal, masked (`sk-...abcd`), or with characters escaped as JSON,
 * addresses or pages do; cut off at either end too (docs/vendors.md#what-passes).
 */
export function redactionOf(keys: readonly string[]): KeyRedaction {
  const known = [...new Set(keys)].filter((key) => key !== '')
  if (known.length === 0) return { redact: (text) => text, mayHold: () => false }
  const long = known.filter((key) => key.length >= keyCharactersMin)
  const written = [
    ...known.map((key) => partsOf(key, literal)),
    ...long.map((key) => partsOf(key, hexOf)),
  ]
  const plain = new RegExp(written.join('|'), 'gi')
  const escaped = new RegExp(known.map((key) => partsOf(key, spelled)).join('|'), 'gi')
  const encoded = new RegExp(known.flatMap(base64Cores).map(RegExp.escape).join('|') || '(?!)', 'g')
  const looks = quickLook(known)
  const unmask = (found: string, head: string, tail: string) =>
    known.some((key) => isMasked(key, edge(head), edge(tail))) ? removed : found
  return {
    mayHold: looks,
    redact: (text) => {
      const clean = text.replace(plain, removed).replace(encoded, removed)
      const spelt = escapes.test(clean) ? clean.replace(escaped, removed) : clean
      return spelt.replace(masks, unmask)
    },
  }
}

/** Searches of plain texts, since the patterns cost twenty times as much on the id of an answer. */
function quickLook(keys: readonly string[]): (text: string) => boolean {
  const parts = keys
    .flatMap((key) => [key.slice(0, partCharacters), key.slice(-partCharacters)])
    .flatMap((part) => [part.toLowerCase(), hexOf(part)])
  const cores = keys.flatMap(base64Cores)
  return (text) => {
    const lower = text.toLowerCase()
    if (parts.some((part) => lower.includes(part)) || marks.test(text)) return true
    return cores.some((core) => core.length <= text.length && text.includes(core))
  }
}

/** What escapes and masks have. */
const marks = /[\\%&*\u2022\u2026]|\.\./

/** What characters are written as: `\u0073`, `\x73`, `%73`, `&#115;`, `&#x73;`. */
const escapes = /\\+(?:u00|x)[0-9a-f]{2}|%[0-9a-f]{2}|&#x?[0-9a-f]{2,6};/i
const masks = /([\w.*~+/=-]{0,60})(?:[.*\u2022]{2}|\u2026)([\w.*\u2022\u2026~+/=-]{0,40})/g
const maskEdges = /[.*\u2022\u2026]+$|^[.*\u2022\u2026]+/g
const maskedCharactersMin = 5

function edge(shown: string): string {
  return shown.replace(maskEdges, '')
}

function isMasked(key: string, head: string, tail: string): boolean {
  if (key.length < keyCharactersMin || head.length + tail.length < maskedCharactersMin) return false
  return key.startsWith(head) && key.endsWith(tail)
}

/** A pattern of a key and of its parts; what follows its beginning goes with it. */
function partsOf(key: string, write: (character: string) => string): string {
  const whole = Array.from(key, write)
  if (key.length < keyCharactersMin) return String.raw`(?<![\w-])${whole.join('')}(?![\w-])`
  const [head, tail] = [whole.slice(0, partCharacters), whole.slice(-partCharacters)]
  const rest = String.raw`(?:${whole.slice(partCharacters).join('')}|[\w~+/=-]*)`
  return `${head.join('')}${rest}|${tail.join('')}`
}

function literal(character: string): string {
  return RegExp.escape(character)
}

function hexOf(text: string): string {
  return Buffer.from(text).toString('hex')
}

function spelled(character: string): string {
  const code = character.codePointAt(0)!
  const hex = code.toString(16).padStart(2, '0')
  return String.raw`(?:${literal(character)}|\\+(?:u00|x)${hex}|%${hex}|&#(?:0*${code}|x0*${hex});)`
}

/** What base64 has of a key that stands at any place of what was encoded. */
function base64Cores(key: string): string[] {
  if (key.length < keyCharactersMin) return []
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.from(' '.repeat(before) + key)
    const [from, to] = [Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6)]
    return (['base64', 'base64url'] as const).map((form) => bytes.toString(form).slice(from, to))
  })
}
