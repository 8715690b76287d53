import type { IncomingMessage, ServerResponse } from 'node:http'
import type { components } from '../../../generated/types.ts'
import type { PersonCaller } from '../../core/caller.ts'
import { GatewayError } from '../../core/error.ts'
import { originOf } from '../../core/networks.ts'
import type { Answer } from '../../http/answer.ts'
import type { ClientAddress } from '../../http/client-address.ts'
import type { SessionCookie } from '../../http/session-cookie.ts'
import { interactionPath } from '../metadata.ts'
import type { Interactions, PageCall as InteractionCall } from '../interactions.ts'
import { clientText } from './client-text.ts'
import { consentPage, type Holder } from './consent-page.ts'
import type { Problem } from './form.ts'
import type { InteractionTokens, Viewer } from './interaction-tokens.ts'
import { signInPage, signUpPage, signUpView, viewParameter } from './sign-in-page.ts'

type Schemas = components['schemas']

export type PageCall = {
  request: IncomingMessage
  response: ServerResponse
  path: { uid: string }
  addressOf: ClientAddress
}

/** An API key as the page shows it. */
export type ShownKey = {
  id: string
  name: string
  hint: string
  mode: 'live' | 'test'
  account: { id: string; name: string }
}

export type ViewOptions = {
  interactions: () => Promise<Interactions>
  /** The person of a session. Throws `invalid_session`, and `insufficient_scope` for a member of no account. */
  personOf: (token: string) => Promise<{ caller: PersonCaller; person: Schemas['Person'] }>
  /** An API key by its id; undefined if it has expired or was revoked. */
  keyOf: (keyId: string) => Promise<ShownKey | undefined>
  cookie: SessionCookie
  tokens: InteractionTokens
  /** Whether anyone may create an account. */
  signUp: boolean
  passwordsAreOpen: () => Promise<boolean>
  /** The label of sign-in with OpenID Connect; null without it. */
  oidcLabel: string | null
}

/** The state of a page: the client's request and the viewer. */
export type View = Awaited<ReturnType<typeof look>>

type Identity = {
  viewer: Viewer
  /** The viewer; undefined without a sign-in. */
  holder: Holder | undefined
  /** The owner of the connection; undefined without a sign-in. */
  by: { personId: string } | { keyId: string } | undefined
  /** The person's session; undefined for a key. */
  caller?: PersonCaller | undefined
  problem?: Problem | undefined
}

/** Reads the interaction and its viewer. Throws `not_found` if it belongs to another browser. */
export async function look(call: PageCall, options: ViewOptions) {
  const { request } = call
  const consent = await (await options.interactions()).look(interactionCall(call))
  const { uid } = consent
  const identity = await holderOf(request, options.tokens.readKey(request, uid), options)
  const binding = {
    path: `${interactionPath}${encodeURIComponent(uid)}`,
    token: options.tokens.forForm(uid, identity.viewer),
  }
  const client = clientText(consent.client, consent.redirectUri)
  const passwordsAreOpen = await options.passwordsAreOpen()
  return { consent, client, binding, passwordsAreOpen, ...identity }
}

/** The request in the form of `Interactions`. */
export function interactionCall(call: PageCall): InteractionCall {
  const { request, response, addressOf, path } = call
  return { request, response, uid: path.uid, origin: originOf(addressOf(request)) }
}

type Filled = { email?: string; name?: string; accountId?: string; budget?: string }
type Shown = { values?: Filled; problem?: Problem; status?: number; signsUp?: boolean }

/** The page for the viewer: to sign in, to create an account, or to decide. */
export function pageFor(view: View, options: ViewOptions, shown: Shown = {}): Answer {
  const { client, binding, holder, passwordsAreOpen } = view
  const problem = shown.problem ?? view.problem
  const { values, status = 200, signsUp = false } = shown
  const page = { client, binding, values: values ?? {}, problem, status }
  if (holder !== undefined) return consentPage({ ...page, holder })
  const signUp = options.signUp && passwordsAreOpen
  if (signsUp && signUp) return signUpPage(page)
  return signInPage({ ...page, signUp, passwordsAreOpen, oidcLabel: options.oidcLabel })
}

/** GET /oauth/interaction/{uid} */
export function showInteraction(options: ViewOptions) {
  return async (call: PageCall): Promise<Answer> => {
    const { searchParams } = new URL(call.request.url ?? '', 'http://gateway')
    const signsUp = searchParams.get(viewParameter) === signUpView
    return pageFor(await look(call, options), options, { signsUp })
  }
}

async function holderOf(
  request: IncomingMessage,
  keyId: string | undefined,
  { keyOf, personOf, cookie }: ViewOptions,
): Promise<Identity> {
  if (keyId !== undefined) {
    const key = await keyOf(keyId)
    if (key !== undefined)
      return { viewer: { keyId }, by: { keyId }, holder: { kind: 'key', ...key } }
    const message = 'This API key has expired or was revoked. Use another key.'
    return { ...anonymous, problem: { message, field: 'api_key' } }
  }
  const session = cookie.read(request)
  if (session === undefined) return anonymous
  try {
    const { caller, person } = await personOf(session)
    const { name, email, memberships } = person
    const accounts = memberships.map((one) => ({ id: one.account_id, name: one.account_name }))
    const holder = { kind: 'person', name, email, accounts } as const
    return { viewer: { session }, by: { personId: person.id }, holder, caller }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    if (error.code === 'invalid_session') return anonymous
    if (error.code !== 'insufficient_scope') throw error
    return { ...anonymous, problem: { message: error.message } }
  }
}

const anonymous: Identity = { viewer: undefined, holder: undefined, by: undefined }
