import type { IncomingMessage } from 'node:http'
import type { components } from '../../generated/types.ts'
import type { Passkeys } from '../accounts/passkeys.ts'
import type { SignIns, SignInResult, AnonymousClient } from '../accounts/sign-in.ts'
import type { SignUps } from '../accounts/sign-up.ts'
import { GatewayError } from '../core/error.ts'
import { originOf } from '../core/networks.ts'
import { gatewayCommand } from '../core/words/remedies.ts'
import type { Answer } from '../http/answer.ts'
import type { ClientAddress } from '../http/client-address.ts'
import type { Operations } from '../http/contract-router.ts'
import { actorOf, type Operation } from '../http/operation.ts'
import { passkeySiteOf, type PublicOrigin } from '../http/public-origin.ts'
import type { SessionCookie } from '../http/session-cookie.ts'
import { ok } from './answers.ts'

/** Dependencies of the operations for people without a session. */
export type EntranceParts = {
  cookie: SessionCookie
  signIns: SignIns
  signUps: SignUps
  signUp: components['schemas']['SignUpState']
  passwordsAreOpen: () => Promise<boolean>
  passkeys: Passkeys
  publicOrigin: PublicOrigin
  /** Null if the settings name no OpenID provider. */
  oidcLabel: string | null
}

/** The handlers for people without a session. Each successful sign-in sets the cookie. */
export function entranceOperations(parts: EntranceParts) {
  const { cookie, signIns, signUps, signUp, passkeys, publicOrigin } = parts
  const signedInAnswer = ({ token, ageSeconds, signedIn }: SignInResult): Answer => ({
    status: 201,
    headers: { 'set-cookie': cookie.set(token, ageSeconds) },
    json: signedIn,
  })
  return {
    retrieveEntrance: async ({ caller }) => {
      const [is_set_up, isOpen, hasPasskeys] = await Promise.all([
        signIns.isSetUp(),
        parts.passwordsAreOpen(),
        passkeys.areUsed(),
      ])
      const state = {
        sign_up: signUp,
        password_sign_in: isOpen ? ('open' as const) : ('closed' as const),
        passkeys: isOpen && hasPasskeys,
        oidc_label: parts.oidcLabel,
        is_set_up,
        is_signed_in: caller !== undefined,
        command: gatewayCommand,
      }
      return { status: 200, json: { object: 'entrance', ...state } }
    },
    setUp: async (call) => signedInAnswer(await signIns.setUp(call.body, anonymousClientOf(call))),
    signUp: async (call) =>
      signedInAnswer(await signUps.signUp(call.body, anonymousClientOf(call))),
    createSession: async (call) =>
      signedInAnswer(await signIns.signIn(call.body, anonymousClientOf(call))),
    startPasskeySession: async ({ request }) =>
      ok(await passkeys.startSession(passkeySiteOf(publicOrigin, request))),
    createPasskeySession: async (call) => {
      const site = passkeySiteOf(publicOrigin, call.request)
      return signedInAnswer(await passkeys.signIn(call.body, site, anonymousClientOf(call)))
    },
    resetPassword: async (call) => {
      const { token, new_password: next } = call.body
      return signedInAnswer(await signIns.resetPassword({ token, next }, anonymousClientOf(call)))
    },
    describeInvitation: async (call) =>
      ok(await signUps.describe(call.body.token, anonymousClientOf(call))),
    acceptInvitation: acceptInvitation(signUps, signedInAnswer),
  } satisfies Partial<Operations>
}

type Call = { request: IncomingMessage; addressOf: ClientAddress }

/** The address and user agent of a request without a session; null where unknown. */
export function anonymousClientOf({ request, addressOf }: Call): AnonymousClient {
  const address = addressOf(request)
  const userAgent = request.headers['user-agent'] ?? null
  return { address, origin: originOf(address), userAgent }
}

/** The person of the session joins the account; without a session, the request signs a person in or up. */
function acceptInvitation(
  { accept, join }: SignUps,
  signedInAnswer: (person: SignInResult) => Answer,
): Operation<'acceptInvitation'> {
  return async (call) => {
    const { caller, body } = call
    const from = anonymousClientOf(call)
    if (caller === undefined) return signedInAnswer(await accept(body, from))
    const param = (['name', 'password'] as const).find((member) => body[member] !== undefined)
    if (param !== undefined) throw signedInAlready(param)
    const by = { ...actorOf({ ...call, caller }), origin: from.origin }
    return { status: 201, json: await join(caller, body.token, by) }
  }
}

function signedInAlready(param: string): GatewayError {
  const text = `You are signed in: leave '${param}' out, or sign out first.`
  return new GatewayError('invalid_value', text, { param })
}
