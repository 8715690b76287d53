import { GatewayError } from '../core/error.ts'

/** The codes of RFC 6749, 7591 and 8707 that the gateway itself answers with. */
type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client_metadata'
  | 'invalid_redirect_uri'
  | 'invalid_scope'
  | 'invalid_target'

/** A refusal in OAuth's own words; the message names cause and remedy. */
export class OAuthRefusal extends GatewayError {
  readonly oauthCode: OAuthErrorCode

  constructor(oauthCode: OAuthErrorCode, message: string) {
    super('invalid_value', message)
    this.oauthCode = oauthCode
  }
}
