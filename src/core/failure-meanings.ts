import type { FailureKind } from './failure.ts'

const meanings: Record<FailureKind, string> = {
  unreachable: 'The provider could not be reached, or the connection broke.',
  timeout: 'The provider did not answer in time.',
  overloaded: 'The provider failed, or was overloaded.',
  rate_limited: 'The provider limits the rate of requests.',
  out_of_credit: 'The account at the provider has no credit left.',
  credentials: "The provider refused the gateway's key.",
  not_found: 'The provider does not have this model.',
  malformed: 'What the provider answered could not be read.',
  no_picture: 'The model answered without a picture.',
  rejected: 'The provider refused the request as it was.',
  context_length: 'The conversation is too long for this model.',
  too_large: 'The request is too large for the provider.',
  content_policy: 'The provider refused the content.',
  no_memory: 'The gateway had no memory left for the answer.',
  busy: 'Enough pictures waited for their turn already.',
  cancelled: 'The call was ended before the provider had answered.',
}

/** What a failure means, for people; null for what is no kind, or one of another version. */
export function meaningOf(kind: string | null): string | null {
  return kind !== null && Object.hasOwn(meanings, kind) ? meanings[kind as FailureKind] : null
}
