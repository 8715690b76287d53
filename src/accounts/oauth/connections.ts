/** Who says yes to a client: a person who has signed in, or whoever has an API key. */
export type Consenter = { personId: string } | { keyId: string }

/** What is said yes to. */
export type Consent = {
  by: Consenter
  /** The network address that it was said from. */
  address: string | null
  accountId: string
  /** The client as the page has shown it; `name` may be anything the client says. */
  client: { id: string; name: string }
}

/** The connections of clients to accounts: rows of `api_keys` of kind `connection`. */
export type Connections = {
  /**
   * The id of the key that the client's tokens will be for, which is the id of oidc-provider's Grant:
   * the one that there is for the same client, person or key, and account, else a new one. Throws
   * `not_found` for an account that is not theirs, `expired_api_key` and `invalid_api_key` for a key
   * that has ended, `insufficient_scope` for one that may not infer, and an OauthRefusal.
   */
  connect(consent: Consent): Promise<string>
}
