import { createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { timingSafeEqualText } from '../../bytes/timing-safe-equal.ts'
import { cookieOf } from '../../http/session-cookie.ts'
import { interactionSeconds } from '../metadata.ts'

/** The viewer of a page; its forms are valid only for this viewer. */
export type Viewer = { session: string } | { keyId: string } | undefined

export type InteractionTokens = ReturnType<typeof createInteractionTokens>

const keyCookie = 'gateway_given_key'

/** Creates tokens that are valid for one interaction and viewer, and cannot be forged without the secret. */
export function createInteractionTokens(secret: Buffer, isSecure: boolean) {
  const sign = (...texts: readonly unknown[]) =>
    createHmac('sha256', secret).update(JSON.stringify(texts)).digest('base64url')
  const forForm = (uid: string, viewer: Viewer) => sign('form', uid, viewer ?? null)
  return {
    /** The token that binds a form to an interaction and its viewer. */
    forForm,
    fitsForm: (token: string | undefined, uid: string, viewer: Viewer) =>
      timingSafeEqualText(token ?? '', forForm(uid, viewer)),
    /** The id of the API key that was entered in this browser for the interaction. */
    readKey: (request: IncomingMessage, uid: string) => {
      const [keyId = '', proof = ''] = (cookieOf(request, keyCookie) ?? '').split('.')
      return keyId !== '' && timingSafeEqualText(proof, sign('key', uid, keyId)) ? keyId : undefined
    },
    /** The header `set-cookie` that stores a key's id for this interaction; undefined removes it. */
    keepKey: (uid: string, path: string, keyId: string | undefined) => {
      const value = keyId === undefined ? '' : `${keyId}.${sign('key', uid, keyId)}`
      const age = keyId === undefined ? 0 : interactionSeconds
      const secure = isSecure ? '; Secure' : ''
      return `${keyCookie}=${value}; Path=${path}; HttpOnly; SameSite=Lax${secure}; Max-Age=${age}`
    },
  }
}
