import type { Kysely } from 'kysely'
import type { Caller } from '../core/caller.ts'
import { GatewayError } from '../core/error.ts'
import type { Tables } from '../storage/tables.ts'
import { isOperating, membershipsByPerson, type Membership } from './memberships.ts'
import { mayChange, onlyOwners } from './role.ts'

/** Why the caller makes no link for a person's new password; undefined where they may. */
type RefusalOf = (personId: string) => GatewayError | undefined

/**
 * Looks these people up, and tells of each. A password opens all that a person may: nobody gets there more
 * than they may change anyway.
 */
export async function passwordLinkRefusals(
  db: Kysely<Tables>,
  caller: Caller,
  personIds: readonly string[],
): Promise<RefusalOf> {
  const own = caller.person?.id
  const known = await membershipsByPerson(db, own === undefined ? personIds : [...personIds, own])
  return (personId) => {
    if (personId === own) {
      return mayNot(
        'Your own password is changed with PUT /api/me/password, or by a link of others.',
      )
    }
    const theirs = known.get(personId) ?? []
    return refusalFor(caller, theirs, own === undefined ? [] : (known.get(own) ?? []))
  }
}

function refusalFor(
  caller: Caller,
  theirs: readonly Membership[],
  own: readonly Membership[],
): GatewayError | undefined {
  const here = theirs.find(({ account }) => account.id === caller.accountId)
  if (here === undefined) {
    const text = 'The account has no such member. GET /api/members lists them.'
    return new GatewayError('not_found', text, { param: 'id' })
  }
  if (!mayChange(caller, here.role)) return onlyOwners()
  if (!caller.isOperator && theirs.length > 1) {
    const text = 'This person has other accounts too. Ask those who run the gateway for the link.'
    return mayNot(text)
  }
  const operating = theirs.find(isOperating)
  if (operating?.role !== 'owner') return undefined
  const isOwnerToo = own.some(
    ({ account, role }) => account.id === operating.account.id && role === 'owner',
  )
  return isOwnerToo
    ? undefined
    : mayNot('This person owns the gateway. Another owner of the first account makes the link.')
}

function mayNot(text: string): GatewayError {
  return new GatewayError('insufficient_scope', text)
}
