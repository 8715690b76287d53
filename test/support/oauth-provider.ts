import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import type {
  OAuthClientInformationMixed,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js'
import { callback } from './oauth-client.ts'

/** Storage that a program gives to the SDK's OAuth client, and the URL that the person has to open. */
export type TestProvider = OAuthClientProvider & {
  sentTo: URL | undefined
  kept: { client?: OAuthClientInformationMixed; tokens?: OAuthTokens }
}

/** A program that signs in with the SDK. The URL is the address of its client metadata document. */
export function createTestProvider(clientMetadataUrl?: string): TestProvider {
  let verifier = ''
  const provider: TestProvider = {
    ...(clientMetadataUrl !== undefined && { clientMetadataUrl }),
    sentTo: undefined,
    kept: {},
    redirectUrl: callback,
    clientMetadata: {
      client_name: 'SDK',
      redirect_uris: [callback],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
    },
    state: () => 'a state',
    clientInformation: () => provider.kept.client,
    saveClientInformation: (client) => void (provider.kept.client = client),
    tokens: () => provider.kept.tokens,
    saveTokens: (tokens) => void (provider.kept.tokens = tokens),
    redirectToAuthorization: (url) => void (provider.sentTo = url),
    saveCodeVerifier: (given) => void (verifier = given),
    codeVerifier: () => verifier,
  }
  return provider
}
