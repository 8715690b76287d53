/**
 * What a person does who has no API key that works: how one is sent, and who makes one. In the
 * characters of an `error_description` (RFC 6749 section 5.2).
 */
export const keyRemedy =
  'Send an API key as `Authorization: Bearer <API_KEY>` or as `x-api-key`. Whoever runs this gateway ' +
  'makes one with `npm run -s gateway -- keys create`, and administrators of an account with POST /api/keys.'
