import { OAuthRefusal } from './refusal.ts'

const lengthMax = 2000
/** Schemes of programs that connect to tool servers and have no dot in their scheme. */
const knownSchemes = new Set([
  'antigravity:',
  'cherrystudio:',
  'claude:',
  'code-oss:',
  'cursor:',
  'goose:',
  'kiro:',
  'lmstudio:',
  'raycast:',
  'trae:',
  'vscode-insiders:',
  'vscode:',
  'vscodium:',
  'warp:',
  'windsurf:',
  'zed:',
])
/** The maker's domain name, reversed (RFC 8252 section 7.1), but none of Windows' own schemes. */
const reverseDomain = /^(?!(?:microsoft|windows|ms)\.)[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:$/
const loopbackNames = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * What kind of client an address to come back to is of: `native` where it is a program's on the
 * person's machine (RFC 8252), with http on loopback or a scheme of its own. Throws
 * `invalid_redirect_uri`.
 */
export function redirectKind(address: unknown): 'web' | 'native' {
  if (typeof address !== 'string') throw refused('An entry is no text.')
  const shown = `'${address.slice(0, 100)}'`
  if (address.length > lengthMax) throw refused(`${shown} is longer than ${lengthMax} characters.`)
  // What one parser skips, another one may read.
  if (!/^[!-[\]-~]+$/.test(address)) throw refused(`${shown} has characters that addresses do not.`)
  const url = URL.parse(address)
  if (url === null) throw refused(`${shown} is no address.`)
  const { protocol, username, password, hostname } = url
  if (address.includes('#')) throw refused(`${shown} has a fragment.`)
  if (username !== '' || password !== '') throw refused(`${shown} holds credentials.`)
  const isWeb = protocol === 'https:' || protocol === 'http:'
  // URL takes the path of `https:///cb` for its host.
  if (isWeb && !/^https?:\/\/[^/?]/i.test(address)) throw refused(`${shown} has no host.`)
  if (protocol === 'https:') return 'web'
  if (protocol === 'http:') {
    if (loopbackNames.has(hostname)) return 'native'
    throw refused(`${shown} is http. Use https, or http on localhost, 127.0.0.1 or [::1].`)
  }
  if (knownSchemes.has(protocol) || reverseDomain.test(protocol)) return 'native'
  throw refused(
    `${shown} has the scheme '${protocol}'. Use https, http on localhost, 127.0.0.1 or [::1], or a scheme that is a reversed domain name, such as 'com.example.app:'.`,
  )
}

function refused(text: string): OAuthRefusal {
  return new OAuthRefusal('invalid_redirect_uri', `'redirect_uris' cannot be taken: ${text}`)
}
