import { bodyChecks } from '../../../generated/checks.js'
import type { components } from '../../../generated/types.ts'
import type { Actor, PersonCaller } from '../../core/caller.ts'
import { reportedClient, type ConnectionLog } from '../../core/connection-log.ts'
import { GatewayError } from '../../core/error.ts'
import type { Answer } from '../../http/answer.ts'
import { assertValid } from '../../http/check-error.ts'
import { assertSameOrigin } from '../../http/cross-origin.ts'
import { redirectHostOf } from './client-text.ts'
import { leavingPage, stopPage } from './end-pages.ts'
import { readFormBody, type FormBody } from './form.ts'
import {
  interactionCall,
  look,
  pageFor,
  type PageCall,
  type View,
  type ViewOptions,
} from './interaction-pages.ts'

type Schemas = components['schemas']

type NewSession = { token: string; ageSeconds: number }

/** A person's consent, with the monthly budget of the connection. */
export type Consent = {
  by: { personId: string } | { keyId: string }
  address: string | null
  accountId: string
  client: { id: string; name: string; redirectHost: string }
  monthlyBudgetUsd: string | undefined
}

export type AnswerOptions = ViewOptions & {
  /** The public address of the gateway; undefined to take it from the request. */
  baseUrl: string | undefined
  signIn: (credentials: Schemas['SignInRequest'], call: PageCall) => Promise<NewSession>
  /** Creates a person and an account, as POST /api/people. */
  register: (person: Schemas['SignUpRequest'], call: PageCall) => Promise<NewSession>
  /** Ends the session of this browser. */
  signOut: (caller: PersonCaller, actor: Actor) => Promise<void>
  /** The id of an API key that may call models. Throws the error that a call with the key would get. */
  useKey: (key: string, call: PageCall) => Promise<string>
  /** Creates the connection. Returns the id of its key, which is also the id of its grant. */
  connect: (consent: Consent) => Promise<string>
  connectionLog: Pick<ConnectionLog, 'refused'>
}

type Sent = {
  call: PageCall & { body: Buffer }
  view: View
  form: FormBody
  options: AnswerOptions
}

/** Actions by the value of the button. */
const actions: Readonly<Record<string, (sent: Sent) => Promise<Answer>>> = {
  sign_in: async ({ call, view, form, options }) => {
    const credentials = fieldsOf(form, ['email', 'password'])
    assertValid(bodyChecks.createSession, credentials)
    return enter(view, options, await options.signIn(credentials, call))
  },
  sign_up: async ({ call, view, form, options }) => {
    const person = fieldsOf(form, ['email', 'name', 'password'])
    assertValid(bodyChecks.signUp, person)
    return enter(view, options, await options.register(person, call))
  },
  use_key: async ({ call, view, form, options }) => {
    const keyId = await options.useKey((form.get('api_key') ?? '').trim(), call).catch(aboutKey)
    return keepKey(view, options, keyId)
  },
  switch: async ({ call, view, options }) => {
    if (view.caller === undefined) return keepKey(view, options, undefined)
    const actor = { id: view.caller.person.id, address: call.addressOf(call.request) }
    await options.signOut(view.caller, actor)
    return again(view, options.cookie.clear())
  },
  allow,
  deny: async (sent) => {
    const {
      call,
      view: { client },
      options,
    } = sent
    const next = await (await options.interactions()).refuse(interactionCall(call))
    logDenial(sent)
    if (next === undefined)
      return stopPage({ title: 'Not connected', message: denied, status: 200 })
    return leavingPage({ client, allowed: false, next: pathOf(next) })
  },
}

/** POST /oauth/interaction/{uid} */
export function answerInteraction(options: AnswerOptions) {
  return async (call: PageCall & { body: Buffer }): Promise<Answer> => {
    assertSameOrigin(call.request, options.baseUrl)
    const view = await look(call, options)
    const form = readFormBody(call.body)
    const action = form.get('action') ?? ''
    const signsUp = action === 'sign_up'
    const values = {
      email: form.get('email') ?? '',
      name: form.get('name') ?? '',
      accountId: form.get('account_id') ?? '',
      budget: form.get('budget_usd') ?? '',
    }
    const { consent, viewer } = view
    if (!options.tokens.fitsForm(form.get('csrf_token'), consent.uid, viewer)) {
      return pageFor(view, options, { problem: view.problem ?? outOfDate, status: 403 })
    }
    const act = Object.hasOwn(actions, action) ? actions[action] : undefined
    if (act === undefined) return pageFor(view, options, { problem: outOfDate, status: 400 })
    try {
      return await act({ call, view, form, options })
    } catch (error) {
      if (!(error instanceof GatewayError) || error.status >= 500) throw error
      const problem = { message: error.message, field: error.param ?? undefined }
      // A 401 needs a challenge, to which browsers would respond with a password prompt.
      const status = error.status === 401 ? 403 : error.status
      return withRetry(pageFor(view, options, { values, problem, status, signsUp }), error)
    }
  }
}

const denied =
  'You denied access to the application. You can close this page, or go back to the application.'

const outOfDate = {
  message: 'This page was out of date, and nothing was changed. Check it again, then continue.',
}

function logDenial({ call, view: { consent, client, holder, by }, form, options }: Sent): void {
  if (holder === undefined) return
  const accounts = holder.kind === 'key' ? [holder.account] : holder.accounts
  const account = accounts.find(({ id }) => id === form.get('account_id')) ?? accounts[0]
  if (account === undefined) return
  options.connectionLog.refused({
    reason: 'consent_denied',
    message: 'A person denied access to this application.',
    face: 'oauth',
    client: reportedClient(client.name, undefined),
    accountId: account.id,
    keyId: by !== undefined && 'keyId' in by ? by.keyId : undefined,
    redirectHost: redirectHostOf(consent.redirectUri),
    address: call.addressOf(call.request),
  })
}

async function allow({ call, view, form, options }: Sent): Promise<Answer> {
  const { consent, client, holder, by, caller } = view
  if (holder === undefined || by === undefined) {
    return pageFor(view, options, { problem: view.problem ?? outOfDate, status: 403 })
  }
  const accountId = form.get('account_id') ?? ''
  const accounts = holder.kind === 'key' ? [holder.account] : holder.accounts
  if (!accounts.some(({ id }) => id === accountId)) {
    const text = 'Choose one of your accounts.'
    throw new GatewayError('invalid_value', text, { param: 'account_id' })
  }
  const grantId = await options.connect({
    by,
    address: call.addressOf(call.request),
    accountId,
    client: {
      id: consent.client.id,
      name: client.name,
      redirectHost: redirectHostOf(consent.redirectUri),
    },
    monthlyBudgetUsd: caller === undefined ? undefined : budgetOf(form),
  })
  const interactions = await options.interactions()
  const next = pathOf(await interactions.approve(interactionCall(call), grantId))
  return leavingPage({ client, allowed: true, next })
}

/** The path and query of an address of the gateway, so that the browser stays on its current origin. */
function pathOf(address: string): string {
  const { pathname, search } = new URL(address)
  return pathname + search
}

/** Parses an amount in dollars, also as `$25` or `2,50`. Throws `invalid_value`. */
function budgetOf(form: FormBody): string | undefined {
  const given = (form.get('budget_usd') ?? '').trim()
  if (given === '') return undefined
  const usd = given.replace(/^\$\s*/, '').replace(/^(\d+),(\d{1,2})$/, '$1.$2')
  if (bodyChecks.updateKey({ budget: { usd, period: 'month' } })) return usd
  const text = 'Write an amount in dollars, such as 25 or 2.50, or leave it empty.'
  throw new GatewayError('invalid_value', text, { param: 'budget_usd' })
}

function fieldsOf(form: FormBody, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, form.get(name) ?? '']))
}

/** Key errors are shown at the key field. */
function aboutKey(error: unknown): never {
  if (!(error instanceof GatewayError) || error.status >= 500) throw error
  const { code, message, status, retryAfterSeconds } = error
  throw new GatewayError(code, message, { param: 'api_key', status, retryAfterSeconds })
}

function enter(view: View, { cookie }: AnswerOptions, { token, ageSeconds }: NewSession): Answer {
  return again(view, cookie.set(token, ageSeconds))
}

function keepKey(view: View, { tokens }: AnswerOptions, keyId: string | undefined): Answer {
  return again(view, tokens.keepKey(view.consent.uid, view.binding.path, keyId))
}

/** Redirects to the page, so that a reload does not repeat the form. */
function again({ binding: { path } }: View, cookie?: string): Answer {
  const headers = { location: path, 'cache-control': 'no-store' }
  return {
    status: 303,
    headers: { ...headers, ...(cookie && { 'set-cookie': cookie }) },
    pieces: [],
  }
}

function withRetry(answer: Answer, { status, retryAfterSeconds }: GatewayError): Answer {
  if (status !== 429) return answer
  const seconds = String(Math.ceil(Math.max(retryAfterSeconds ?? 1, 1)))
  return { ...answer, headers: { ...answer.headers, 'retry-after': seconds } }
}
