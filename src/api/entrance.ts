import type { IncomingMessage } from 'node:http'
import type { components } from '../../generated/types.ts'
import type { Entrance, SignInResult, Stranger } from '../accounts/entrance.ts'
import type { Newcomers } from '../accounts/newcomers.ts'
import { GatewayError } from '../core/error.ts'
import { originOf } from '../core/networks.ts'
import type { Answer } from '../http/answer.ts'
import type { ClientAddress } from '../http/client-address.ts'
import type { Operations } from '../http/contract-router.ts'
import { actorOf, type Operation } from '../http/operation.ts'
import type { SessionCookie } from '../http/session-cookie.ts'

/** Dependencies of the operations for people without a session. */
export type EntranceParts = {
  cookie: SessionCookie
  entrance: Entrance
  newcomers: Newcomers
  signUp: components['schemas']['SignUpState']
}

/** The handlers for people without a session. Each successful sign-in sets the cookie. */
export function entranceOperations({ cookie, entrance, newcomers, signUp }: EntranceParts) {
  const signedInAnswer = ({ token, ageSeconds, signedIn }: SignInResult): Answer => ({
    status: 201,
    headers: { 'set-cookie': cookie.set(token, ageSeconds) },
    json: signedIn,
  })
  return {
    retrieveEntrance: async ({ caller }) => {
      const [is_set_up, is_signed_in] = [await entrance.isSetUp(), caller !== undefined]
      return { status: 200, json: { object: 'entrance', sign_up: signUp, is_set_up, is_signed_in } }
    },
    setUp: async (call) => signedInAnswer(await entrance.setUp(call.body, strangerOf(call))),
    signUp: async (call) => signedInAnswer(await newcomers.signUp(call.body, strangerOf(call))),
    createSession: async (call) =>
      signedInAnswer(await entrance.signIn(call.body, strangerOf(call))),
    resetPassword: async (call) => {
      const { token, new_password: next } = call.body
      return signedInAnswer(await entrance.resetPassword({ token, next }, strangerOf(call)))
    },
    describeInvitation: async (call) => ({
      status: 200,
      json: await newcomers.describe(call.body.token, strangerOf(call)),
    }),
    acceptInvitation: acceptInvitation(newcomers, signedInAnswer),
  } satisfies Partial<Operations>
}

type Call = { request: IncomingMessage; addressOf: ClientAddress }

/** The client of a request without a session, as far as the request shows it. */
export function strangerOf({ request, addressOf }: Call): Stranger {
  const address = addressOf(request)
  const userAgent = request.headers['user-agent'] ?? null
  return { address, origin: originOf(address), userAgent }
}

/** With a session, its person joins the account; otherwise the request signs a person in or up. */
function acceptInvitation(
  { accept, join }: Newcomers,
  signedInAnswer: (person: SignInResult) => Answer,
): Operation<'acceptInvitation'> {
  return async (call) => {
    const { caller, body } = call
    const from = strangerOf(call)
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
