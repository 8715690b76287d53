type KeyRedaction = {
  redact(text: string): string
  /** A fast check: false if the text contains no key, true if it may contain one. */
  mayHold(text: string): boolean
}

const removed = '[removed]'
/**
 * Characters at a key's begin or end that are secret already, since vendors quote parts of keys.
 */
const partCharacters = 12
/** Shorter keys are matched as whole words only: they are placeholders such as `none`, or words. */
const keyCharactersMin = 8

/**
 * Finds keys in plain text, base64 or hexadecimal, masked (`sk-...abcd`), truncated at either end,
 * or with characters escaped as in JSON, URLs or HTML (docs/vendors.md#what-passes).
 */
function redactionOf(keys: readonly string[]): KeyRedaction {
  const unique = [...new Set(keys)].filter((key) => key !== '')
  if (unique.length === 0) return { redact: (text) => text, mayHold: () => false }
  const long = unique.filter((key) => key.length >= keyCharactersMin)
  const written = [
    ...unique.map((key) => partsOf(key, literal)),
    ...long.map((key) => partsOf(key, hexOf)),
  ]
  const plain = new RegExp(written.join('|'), 'gi')
  const escaped = new RegExp(unique.map((key) => partsOf(key, spelled)).join('|'), 'gi')
  const encoded = new RegExp(
    unique.flatMap(base64Cores).map(RegExp.escape).join('|') || '(?!)',
    'g',
  )
  const looks = quickLook(unique)
  const unmask = (found: string, head: string, tail: string) =>
    unique.some((key) => isMasked(key, edge(head), edge(tail))) ? removed : found
  return {
    mayHold: looks,
    redact: (text) => {
      const clean = text.replace(plain, removed).replace(encoded, removed)
      const spelt = escapes.test(clean) ? clean.replace(escaped, removed) : clean
      return spelt.replace(masks, unmask)
    },
  }
}

/**
 * The redaction of keys, and of tokens that change: `tokens` returns another list after each new token.
 * `onChange` is called when the result of earlier redactions is out of date.
 */
export function changingRedaction(
  keys: readonly string[],
  tokens: (() => readonly string[]) | undefined,
  onChange: () => void,
): () => KeyRedaction {
  let known = tokens?.()
  let redaction = redactionOf([...keys, ...(known ?? [])])
  return () => {
    const now = tokens?.()
    if (now !== known) {
      known = now
      redaction = redactionOf([...keys, ...(now ?? [])])
      onChange()
    }
    return redaction
  }
}

/** The fast check: substring searches, since on a short text the patterns take twenty times as long. */
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

const marks = /[\\%&*\u2022\u2026]|\.\./

/** Escapes of characters: `\u0073`, `\x73`, `%73`, `&#115;`, `&#x73;`. */
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

/** A pattern for a key and its ends; characters that follow the beginning are included. */
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

/** The base64 of a key that does not depend on the bytes around it, for each of three offsets. */
function base64Cores(key: string): string[] {
  if (key.length < keyCharactersMin) return []
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.from(' '.repeat(before) + key)
    const [from, to] = [Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6)]
    return (['base64', 'base64url'] as const).map((form) => bytes.toString(form).slice(from, to))
  })
}
