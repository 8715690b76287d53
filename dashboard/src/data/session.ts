import { computed, effect, signal } from '@preact/signals'
import { scopesByRole } from '../../../generated/client-values.ts'
import { bodyOf, DELETE, GET, Refusal, setCsrfToken, whenSignedOut, type Schemas } from './api.ts'

export type SignedIn = Schemas['SignedIn']
type Membership = Schemas['Membership']

/** Who is signed in; null for nobody, undefined while that is not known. */
export const signedIn = signal<SignedIn | null | undefined>(undefined)
/** Why that could not be asked. */
export const sessionError = signal<Refusal | undefined>(undefined)

let tellKnown = (): void => undefined
/** Resolves once it is known who is signed in, or that it cannot be asked. */
export const sessionKnown = new Promise<void>((resolve) => (tellKnown = resolve))
/** How often somebody has signed in anew above a page; what it shows is asked for again then. */
export const renewals = signal(0)

const keptAccount = 'gateway_account'
const chosenAccountId = signal(localStorage.getItem(keptAccount) ?? undefined)

/** The account that the pages are about, and what the person is in it. */
export const membership = computed<Membership | undefined>(() => {
  const memberships = signedIn.value?.person.memberships ?? []
  return memberships.find((one) => one.account_id === chosenAccountId.value) ?? memberships[0]
})

/** In which role the person acts in an account; of others only those who run the gateway know. */
export function roleIn(accountId: string): Schemas['Role'] {
  const memberships = signedIn.value?.person.memberships ?? []
  return memberships.find((one) => one.account_id === accountId)?.acts_as ?? 'owner'
}

/** Whether the person acts as an owner of the account. */
export const isOwner = computed(() => membership.value?.acts_as === 'owner')

const audiences = ['everybody', 'administrators', 'operators'] as const
/** Whom a page is for; each may see those of the ones before it, too. */
export type Audience = (typeof audiences)[number]

const keptAudience = 'gateway_audience'
const lastAudience = audiences.find((one) => one === localStorage.getItem(keptAudience))

/**
 * What the person is among these in the chosen account; until the session is known what they were when the
 * browser was last here, and undefined where it was not.
 */
export const audience = computed<Audience | undefined>(() => {
  if (signedIn.value === undefined) return lastAudience
  if (signedIn.value?.person.is_operator) return 'operators'
  const role = membership.value?.acts_as
  const scopes: readonly Schemas['Scope'][] = role === undefined ? [] : scopesByRole[role]
  return scopes.includes('admin') ? 'administrators' : 'everybody'
})

effect(() => {
  if (signedIn.value === null) localStorage.removeItem(keptAudience)
  else if (audience.value !== undefined) localStorage.setItem(keptAudience, audience.value)
})

/** Whether the person may administer the account; it is tried where that is not known yet. */
export const mayAdminister = computed(() => audience.value !== 'everybody')

/** Whether the person runs the gateway. */
export const isOperator = computed(() => audience.value === 'operators')

/** Whether a page for these is for the person. */
export function isFor(those: Audience): boolean {
  return (
    audience.value !== undefined && audiences.indexOf(audience.value) >= audiences.indexOf(those)
  )
}

/**
 * What names the account that was chosen to the gateway, also before it is known whether the person is
 * still a member of it; nothing for the first one, which it takes by default.
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

/** Takes over what signing in has answered. */
export function enter(body: SignedIn): void {
  setCsrfToken(body.csrf_token)
  if (signedIn.value && signedIn.value.session.id !== body.session.id) renewals.value += 1
  sessionError.value = undefined
  isOver.value = false
  signedIn.value = body
  tellKnown()
}

/** Whether the session of who is signed in has ended, by its age or elsewhere; the page stays meanwhile. */
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

/** Takes over what has changed of the person. */
export function setPerson(person: SignedIn['person']): void {
  if (signedIn.value) signedIn.value = { ...signedIn.value, person }
}

/** Shows the entrance, whoever was there. */
export function forget(): void {
  setCsrfToken(undefined)
  isOver.value = false
  signedIn.value = null
  tellKnown()
}

/** Whether somebody may be signed in: somebody was in this browser, or the gateway says so. */
export const isSomebody = signal(lastAudience !== undefined)

/** Loads the session. Without one before, asks first whether there is one: browsers log each 401 as an error. */
export async function look(): Promise<void> {
  try {
    isSomebody.value ||= (await bodyOf(GET('/api/entrance'))).is_signed_in
    if (!isSomebody.value) return forget()
    enter(await bodyOf(GET('/api/sessions/current')))
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 401) sessionError.value = error as Refusal
    else if (!signedIn.value) forget()
    tellKnown()
  }
}

whenSignedOut(() => {
  if (signedIn.value) isOver.value = true
  else forget()
})
