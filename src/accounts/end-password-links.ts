import type { Transaction } from 'kysely'
import type { Tables } from '../storage/tables.ts'

/**
 * Ends the open links that set a person's password, in the transaction that changes the password, or what
 * the person may: whoever made the link was asked what it opened then.
 */
export async function endPasswordLinks(
  transaction: Transaction<Tables>,
  personId: string,
  now: number,
): Promise<void> {
  await transaction
    .updateTable('password_links')
    .set({ used_at: now })
    .where('person_id', '=', personId)
    .where('used_at', 'is', null)
    .execute()
}
