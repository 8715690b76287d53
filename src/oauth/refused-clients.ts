import type { IncomingMessage } from 'node:http'
import type { KoaContextWithOIDC, Provider } from 'oidc-provider'
import { clientOfUserAgent, reportedClient, type ConnectionLog } from '../core/connection-log.ts'
import type { components } from '../../generated/types.ts'
import { endpoints } from './metadata.ts'
import { redirectHostOf } from './pages/client-text.ts'
import type { OAuthRefusal } from './error-answer.ts'

type Log = Pick<ConnectionLog, 'refused'>
/** The events that oidc-provider emits when it refuses a client, and the reason to log. */
const events = {
  'authorization.error': 'authorization_refused',
  'registration_create.error': 'registration_refused',
  'grant.error': 'token_refused',
} as const satisfies Record<string, components['schemas']['AttemptReason']>

/** Logs the clients that oidc-provider refuses. */
export function watchRefusals(provider: Provider, log: Log): void {
  for (const [event, reason] of Object.entries(events)) {
    // oidc-provider's types have one overload for each event.
    const on = provider.on.bind(provider) as (event: string, listener: Listener) => void
    on(event, (context, error) => {
      // `answer-interaction.ts` logs a person's denial.
      if (error.error === 'access_denied') return
      const { params, client, body, entities } = context.oidc ?? {}
      const name = client?.clientName ?? client?.clientId ?? body?.['client_name']
      log.refused({
        reason,
        message: messageOf(error),
        face: 'oauth',
        client: reportedClient(name, undefined),
        keyId: entities?.RefreshToken?.accountId,
        redirectHost: hostIn(params?.['redirect_uri']),
      })
    })
  }
}

/** The message of an error, with that of its cause, such as a document that could not be fetched. */
function messageOf({ error_description: text, message, cause }: Parameters<Listener>[1]): string {
  const reason = cause instanceof Error ? `: ${cause.message}` : ''
  return (text ?? message) + reason
}

type Listener = (
  context: Pick<KoaContextWithOIDC, never> & { oidc?: Partial<Seen> },
  error: Error & { error?: string; error_description?: string },
) => void
type Seen = {
  params: Record<string, unknown>
  client: { clientId: string; clientName?: string }
  body: Record<string, unknown>
  entities: { RefreshToken?: { accountId?: string } }
}

/** Logs a registration, sign-in or token request that the gateway refuses itself. */
export function logRefusal(
  log: Log,
  error: OAuthRefusal,
  { request, requestId }: { request: IncomingMessage; requestId: string },
): void {
  const { url = '', headers } = request
  const isRegistration = /^(?:\/oauth)?\/register\b/.test(url)
  const isAuthorization = url.startsWith(endpoints.authorization) || url.startsWith('/authorize')
  log.refused({
    reason: isRegistration
      ? 'registration_refused'
      : isAuthorization
        ? 'authorization_refused'
        : 'token_refused',
    message: error.message,
    face: 'oauth',
    client: clientOfUserAgent(headers['user-agent']),
    redirectHost: hostIn(
      isAuthorization ? URL.parse(url, 'http://a')?.searchParams.get('redirect_uri') : undefined,
    ),
    requestId,
  })
}

const hostLengthMax = 100

function hostIn(redirectUri: unknown): string | undefined {
  if (typeof redirectUri !== 'string' || !URL.canParse(redirectUri)) return undefined
  return redirectHostOf(redirectUri).slice(0, hostLengthMax)
}
