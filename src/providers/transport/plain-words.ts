/** Limit of a text that is cleaned; callers truncate the result to far less. */
const charactersRead = 8000

const addressNumber = String.raw`(?:\d{1,3}\.){3}\d{1,3}|\[[0-9a-f:]*:[0-9a-f:.]*\]`
/** Host names of private networks. */
const privateName = String.raw`(?:[\w-]+\.)*(?:localhost|[\w-]+\.(?:internal|local|localdomain|lan|corp|home|intranet|svc|cluster|test|invalid))`
const isPrivate = new RegExp(`^(?:${addressNumber}|${privateName})$`, 'i')

type Replacement = readonly [RegExp, string | ((found: string) => string)]

// None ends with a full stop, which belongs to the sentence.
const secrets: readonly Replacement[] = [
  [/\b(?:Bearer|Basic)\s+[\w.~+/=-]{7,}[\w~+/=-]/gi, '[removed]'],
  [/\b(?:api[_ -]?key|secret|password)["']?\s*[:=]\s*["']?[^\s"',;]{5,}[^\s"',;.]/gi, '[removed]'],
  [/\b(?:sk|pk|rk|gsk|csk|xai|hf|r8|tgp|fw|nvapi|pplx)[-_][\w*.-]{7,}[\w*-]/g, '[removed]'],
  [/\bAIza[\w-]{20,}|\beyJ[\w-]{10,500}\.[\w.-]*[\w-]/g, '[removed]'],
  [/\b(?:org|proj|acct)[-_](?=[\w-]{0,60}\d)[\w-]{8,}/g, '[removed]'],
]
const webAddress = /\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s"'<>`]+/gi
const places: readonly Replacement[] = [
  [
    new RegExp(
      String.raw`(?<![\w.-])(?:${addressNumber}|${privateName})(?::\d{1,5})?(?![\w-])`,
      'gi',
    ),
    '[address]',
  ],
  [/(?<![\w/.:\]])\/(?!v\d)(?:[\w.@~-]+\/)+[\w.@~-]*/g, '[path]'],
  [/\b[a-z]:\\[^\s"'<>|]+/gi, '[path]'],
]

/** Patterns to remove from a vendor's messages, in this order. */
const ofWords: readonly Replacement[] = [
  // A stack trace contains file paths.
  [/(?<!\s)\s*(?:Traceback \(most recent call last\)|Stack trace:|\n\s+at \S+ ?\().*/s, ''],
  ...secrets,
  [webAddress, publicAddress],
  ...places,
  [/(?<![\w.-])(?:[a-z0-9-]+\.)+[a-z]{2,}:\d{2,5}\b/gi, '[address]'],
]
const ofTexts = [webAddress, ...[...secrets, ...places].map(([pattern]) => pattern)]
const anyOfTexts = new RegExp(ofTexts.map(({ source }) => source).join('|'), 'i')

/**
 * A vendor's message as one line of plain text, without secrets, network addresses and file paths.
 * Public web addresses stay, without their queries.
 */
export function plainWords(words: string): string {
  let plain = looksLikeHtml.test(words) ? htmlText(words) : words
  plain = plain.slice(0, charactersRead)
  plain = replaced(plain, ofWords)
  // oxlint-disable-next-line no-control-regex
  return plain.replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ').trim()
}

/**
 * A text of an answer without secrets, network addresses and file paths. Public web addresses, such
 * as those of sources, stay complete.
 */
export function withoutPlaces(text: string): string {
  let cleaned = ''
  let at = 0
  for (const { 0: address, index } of text.matchAll(webAddress)) {
    cleaned += replaced(replaced(text.slice(at, index), secrets), places)
    cleaned += isPublic(address) ? replaced(address, secrets) : '[address]'
    at = index + address.length
  }
  return cleaned + replaced(replaced(text.slice(at), secrets), places)
}

/** A fast check: true if a text certainly has no secrets, addresses or paths. */
export function isPlain(text: string): boolean {
  return !anyOfTexts.test(text)
}

function replaced(text: string, replacements: readonly Replacement[]): string {
  return replacements.reduce(
    // TypeScript has no overload of `replace` for a string or a function.
    (current, [pattern, replacement]) => current.replace(pattern, replacement as string),
    text,
  )
}

function isPublic(address: string): boolean {
  const url = URL.parse(address)
  if (url === null || url.username !== '' || url.password !== '') return false
  return !isPrivate.test(url.hostname) && url.hostname.includes('.')
}

function publicAddress(found: string): string {
  // Punctuation after an address belongs to the sentence.
  const [, text = '', end = ''] = /^(.*?)([.,;:)\]]*)$/s.exec(found) ?? []
  const url = URL.parse(text)
  if (url?.protocol !== 'https:' || url.port !== '' || !isPublic(text)) return `[address]${end}`
  return `${url.origin}${url.pathname === '/' ? '' : url.pathname}${end}`
}

const looksLikeHtml = /<(?:!doctype|html|head|body|title|h1)\b/i
const entities: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&nbsp;': ' ',
  '&amp;': '&',
}

/** The first title or heading of an HTML page; the rest is decoration. */
function htmlText(page: string): string {
  const found = /<(title|h1)[^>]*>([^<]*)/i.exec(page.slice(0, charactersRead))
  return (found?.[2] ?? '').replace(/&(?:lt|gt|quot|#39|nbsp|amp);/g, (entity) => entities[entity]!)
}
