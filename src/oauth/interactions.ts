import type { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { errors, type Provider } from 'oidc-provider'
import { GatewayError } from '../core/error.ts'
import type { ArtifactStore } from './artifacts.ts'
import { mayReturn } from './error-page.ts'
import { requestFor } from './serve-oidc.ts'
import { offlineScope, resourceAt, toolScope } from './metadata.ts'

/** A request of the person's browser for a page of a sign-in. */
export type PageCall = {
  request: IncomingMessage
  response: ServerResponse
  uid: string
  /** The address or network of the sender. */
  origin: string
}

/** Reads a client's request for consent and completes it with a person's decision. */
export type Interactions = ReturnType<typeof createInteractions>

export function createInteractions(
  providerFor: (request: IncomingMessage) => Promise<Provider>,
  senderStore: AsyncLocalStorage<string>,
  store: Pick<ArtifactStore, 'isConnected'>,
) {
  const find = async ({ request, response, uid }: PageCall) => {
    const provider = await providerFor(request)
    const seen = requestFor(provider, request, { method: 'GET', path: '/' })
    const details = await provider.interactionDetails(seen, response).catch(() => undefined)
    if (details?.uid !== uid) throw over()
    const finish = (result: Parameters<Provider['interactionResult']>[2]) =>
      provider.interactionResult(seen, response, result, { mergeWithLastSubmission: false })
    return { provider, details, finish }
  }
  return {
    /**
     * Reads the request; its strings come from the client and must be escaped. Throws `not_found` for a
     * sign-in that has expired or belongs to another browser.
     */
    look: async (call: PageCall) => {
      const { provider, details } = await find(call)
      const { client_id: id, redirect_uri: redirectUri, scope } = details.params
      const client = await senderStore
        .run(call.origin, () => provider.Client.find(String(id)))
        .catch(unreadable)
      if (client === undefined || typeof redirectUri !== 'string') throw over()
      const { clientId, clientName, clientUri, logoUri, policyUri, tosUri } = client
      return {
        uid: details.uid,
        client: {
          id: clientId,
          name: clientName,
          clientUri,
          logoUri,
          policyUri,
          termsUri: tosUri,
          /** The host that publishes the client's document; undefined for a registered client. */
          publishedBy: URL.parse(clientId)?.host,
        },
        /** Where the browser goes after the decision. */
        redirectUri,
        scopes: typeof scope === 'string' ? scope.split(' ') : [],
      }
    },
    /** Grants tokens of the key with this id. Returns the address of the redirect. */
    approve: async (call: PageCall, grantId: string) => {
      const { provider, details, finish } = await find(call)
      const { client_id: clientId } = details.params
      const known = await provider.Grant.find(grantId)
      const grant = known ?? new provider.Grant({ accountId: grantId, clientId: String(clientId) })
      grant.jti = grantId
      grant.addOIDCScope(`${toolScope} ${offlineScope}`)
      grant.addResourceScope(resourceAt(provider.issuer), toolScope)
      await grant.save()
      return finish({ login: { accountId: grantId, remember: false }, consent: { grantId } })
    },
    /**
     * Reports the denial to the client. Returns the address as `approve` does, or undefined for a client
     * that `mayReturn` refuses; its sign-in then stays open.
     */
    refuse: async (call: PageCall) => {
      const { details, finish } = await find(call)
      if (!(await mayReturn(store, details.params))) return undefined
      return finish({ error: 'access_denied', error_description: 'The person denied access.' })
    },
  }
}

/** Reports an unreadable client document as temporary: another process may have cached it. */
function unreadable(error: unknown): never {
  if (!(error instanceof errors.OIDCProviderError)) throw error
  const text = 'The document of this client cannot be fetched at the moment. Try again.'
  throw new GatewayError('overloaded', text, { cause: error })
}

function over(): GatewayError {
  const text =
    'This sign-in has expired or was started in another browser. Connect again in the application that sent you here.'
  return new GatewayError('not_found', text)
}
