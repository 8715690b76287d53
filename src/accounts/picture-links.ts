import { createHmac } from 'node:crypto'
import { timingSafeEqualText } from '../bytes/timing-safe-equal.ts'
import { GatewayError } from '../core/error.ts'
import type { PictureFiles, PictureLink } from '../core/picture-files.ts'

/** Bytes of the key that signs links. */
export const pictureLinkKeyBytes = 32

type Options = { key: Buffer; baseUrl: string; clock: () => number }

/** Programs that retrieve a job get new links, so that a link which leaks is soon of no use. */
const linkMs = 3_600_000

/** Signed links to files: HMAC-SHA256 over id, end and account. */
export function createPictureLinks({ key, baseUrl, clock }: Options) {
  const signed = (...[fileId, expires, account]: readonly [string, string, string]) =>
    createHmac('sha256', key)
      .update(JSON.stringify([fileId, expires, account]))
      .digest('base64url')
  return {
    linkTo: (({ accountId }, { id, expiresAtMs }) => {
      const expires = String(Math.floor(Math.min(clock() + linkMs, expiresAtMs) / 1000))
      const signature = signed(id, expires, accountId)
      const query = new URLSearchParams({ account: accountId, expires, signature })
      return `${baseUrl}/v1/images/files/${id}?${query.toString()}`
    }) satisfies PictureFiles['linkTo'],
    /** Throws `not_found` unless the gateway signed the link, and it has not expired. */
    assertValid: ({ fileId, expires, account, signature }: PictureLink): void => {
      // The texts are compared: a changed last character may decode to the same bytes.
      if (!timingSafeEqualText(signature, signed(fileId, expires, account)))
        throw new GatewayError(
          'not_found',
          'The link is not valid: it was changed. Use the link as it stands in the result of the job.',
        )
      if (clock() >= Number(expires) * 1000)
        throw new GatewayError(
          'not_found',
          'The link has expired. Retrieve the job again: its result has a new link while the picture is stored.',
        )
    },
  }
}
