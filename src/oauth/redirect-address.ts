import { OAuthRefusal } from './refusal.ts'

const lengthMax = 2000
/** What browsers run, read from this machine, or hand to other programs than the client's own. */
const forbiddenSchemes = new Set([
  'about:',
  'blob:',
  'content:',
  'data:',
  'file:',
  'filesystem:',
  'ftp:',
  'intent:',
  'jar:',
  'javascript:',
  'mailto:',
  'sms:',
  'tel:',
  'vbscript:',
  'view-source:',
  'ws:',
  'wss:',
])
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
  if (protocol === 'https:') return 'web'
  if (protocol === 'http:') {
    if (loopbackNames.has(hostname)) return 'native'
    throw refused(`${shown} is http. Use https, or http on localhost, 127.0.0.1 or [::1].`)
  }
  if (forbiddenSchemes.has(protocol)) throw refused(`${shown} has the scheme '${protocol}'.`)
  return 'native'
}

function refused(text: string): OAuthRefusal {
  return new OAuthRefusal('invalid_redirect_uri', `'redirect_uris' cannot be taken: ${text}`)
}
