import type { IncomingMessage } from 'node:http'

/** The id of the client that a request shows a secret of; undefined where it shows none that can be read. */
export function clientWithSecret(
  { headers: { authorization = '' } }: Pick<IncomingMessage, 'headers'>,
  form: URLSearchParams,
): string | undefined {
  const [, credentials] = /^basic +(\S+)$/i.exec(authorization) ?? []
  if (credentials !== undefined) return idOf(Buffer.from(credentials, 'base64').toString())
  return form.get('client_secret') ? (form.get('client_id') ?? undefined) : undefined
}

/** RFC 6749 section 2.3.1 has both halves written as in a form. */
function idOf(pair: string): string | undefined {
  const end = pair.indexOf(':')
  if (end < 0) return undefined
  return (
    new URLSearchParams(`id=${pair.slice(0, end).replaceAll('&', '%26')}`).get('id') ?? undefined
  )
}
