import { computed, effect, signal } from '@preact/signals'
import { scopesByRole } from '../../../generated/client-values.ts'
import {
  bodyOf,
  DELETE,
  GET,
  Refusal,
  setCsrfToken,
  waitBeforeChanges,
  whenSignedOut,
  type Schemas,
} from './api.ts'

export type SignedIn = Schemas['SignedIn']
type Membership = Schemas['Membership']

/** The session; null when signed out, undefined until the gateway has answered. */
export const signedIn = signal<SignedIn | null | undefined>(undefined)
/** Why the session could not be loaded. */
export const sessionError = signal<Refusal | undefined>(undefined)

let resolveLoaded = (): void => undefined
/** Resolves when the session has been loaded, or loading it has failed. */
export const sessionLoaded = new Promise<void>((resolve) => (resolveLoaded = resolve))
waitBeforeChanges(sessionLoaded)
/** Number of sign-ins in the dialog above a page; the page then reloads its data. */
export const renewals = signal(0)

const keptAccount = 'gateway_account'
const chosenAccountId = signal(localStorage.getItem(keptAccount) ?? undefined)

/** The person's membership in the account that the pages show. */
export const membership = computed<Membership | undefined>(() => {
  const memberships = signedIn.value?.person.memberships ?? []
  return memberships.find((one) => one.account_id === chosenAccountId.value) ?? memberships[0]
})

/** The person's role in an account. Operators may open accounts in which they are no members; they act as owners. */
export function roleIn(accountId: string): Schemas['Role'] {
  const memberships = signedIn.value?.person.memberships ?? []
  return memberships.find((one) => one.account_id === accountId)?.acts_as ?? 'owner'
}

/** Whether the person acts as an owner of the account. */
export const isOwner = computed(() => membership.value?.acts_as === 'owner')

const audiences = ['everybody', 'key makers', 'administrators', 'operators'] as const
/** The group of readers of a page. Each group may also open the pages of the groups before it. */
export type Audience = (typeof audiences)[number]

const keptAudience = 'gateway_audience'
const lastAudience = audiences.find((one) => one === localStorage.getItem(keptAudience))

/**
 * The group of the signed-in person in the chosen account. Until the session is loaded, the group of the last
 * visit in this browser; undefined without an earlier visit.
 */
const audience = computed<Audience | undefined>(() => {
  if (signedIn.value === undefined) return lastAudience
  if (signedIn.value?.person.is_operator) return 'operators'
  const role = membership.value?.acts_as
  const scopes: readonly Schemas['Scope'][] = role === undefined ? [] : scopesByRole[role]
  if (scopes.includes('admin')) return 'administrators'
  return membership.value?.key_bounds ? 'key makers' : 'everybody'
})

effect(() => {
  if (signedIn.value === null) localStorage.removeItem(keptAudience)
  else if (audience.value !== undefined) localStorage.setItem(keptAudience, audience.value)
})

/**
 * Whether the person may administer the account. True until the role is known; the gateway checks each
 * request.
 */
export const mayAdminister = computed(() => audience.value === undefined || isFor('administrators'))

/** Whether the person may create keys. True until that is known. */
export const mayCreateKeys = computed(() => audience.value === undefined || isFor('key makers'))

/** Whether the person is an operator of the gateway. */
export const isOperator = computed(() => audience.value === 'operators')

/** Whether the signed-in person may open the pages of a group. */
export function isFor(those: Audience): boolean {
  return (
    audience.value !== undefined && audiences.indexOf(audience.value) >= audiences.indexOf(those)
  )
}

/**
 * Query parameter for the chosen account, also before the session shows that the person is still a member
 * of it; empty for the first account, which is the gateway's default.
 */
export function accountQuery(): { account_id?: string } {
  const id = chosenAccountId.value
  const isGone = signedIn.value && membership.value?.account_id !== id
  return id === undefined || isGone ? {} : { account_id: id }
}

export function chooseAccount(id: string): void {
  localStorage.setItem(keptAccount, id)
  chosenAccountId.value = id
}

/** Stores the answer to a sign-in. */
export function enter(body: SignedIn): void {
  setCsrfToken(body.csrf_token)
  if (signedIn.value && signedIn.value.session.id !== body.session.id) renewals.value += 1
  sessionError.value = undefined
  isOver.value = false
  signedIn.value = body
  resolveLoaded()
}

/** Whether the session has ended. The page then shows the sign-in dialog over its content. */
export const isOver = signal(false)

/** Signs out. */
export async function leave(): Promise<void> {
  try {
    await bodyOf(DELETE('/api/sessions/current'))
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 401) throw error
  }
  forget()
}

/** Stores changed data of the signed-in person. */
export function setPerson(person: SignedIn['person']): void {
  if (signedIn.value) signedIn.value = { ...signedIn.value, person }
}

/** Session storage key of the jobs, with their prompts, that the playground has started in this tab. */
export const playgroundJobs = 'gateway_playground_jobs'

/**
 * Name of the database with the history of the playground, and local storage key of the id of the person who
 * has switched it on.
 */
export const playgroundHistory = 'gateway_playground_history'

/** Clears the session and shows the sign-in page. */
export function forget(): void {
  sessionStorage.removeItem(playgroundJobs)
  localStorage.removeItem(playgroundHistory)
  indexedDB.deleteDatabase(playgroundHistory)
  setCsrfToken(undefined)
  isOver.value = false
  signedIn.value = null
  resolveLoaded()
}

/** Whether a session may exist: this browser had one, or the gateway reports one. */
export const maybeSignedIn = signal(lastAudience !== undefined)

/** Loads the session. Browsers log each 401 as an error, so GET /api/entrance is asked first in a new browser. */
export async function look(): Promise<void> {
  try {
    maybeSignedIn.value ||= (await bodyOf(GET('/api/entrance'))).is_signed_in
    if (!maybeSignedIn.value) return forget()
    enter(await bodyOf(GET('/api/sessions/current')))
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 401) sessionError.value = error as Refusal
    else if (!signedIn.value) forget()
    resolveLoaded()
  }
}

whenSignedOut(() => {
  if (signedIn.value) isOver.value = true
  else forget()
})
