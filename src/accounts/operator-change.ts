import type { Transaction } from 'kysely'
import type { components } from '../../generated/types.ts'
import type { Actor } from '../core/caller.ts'
import type { Tables } from '../storage/tables.ts'
import type { Accounts } from './accounts.ts'
import type { ChangeParts } from './audit.ts'

export type OperatorChangeParts = Pick<ChangeParts, 'store' | 'audit'> & {
  accounts: Pick<Accounts, 'first'>
}

/** What was changed; the values contain no secret. */
type Changed = { target: string; before?: object; after?: object }

/** Runs a change of the whole gateway, and records it in the audit log of the operators' account. */
export async function operatorChange(
  { store: { db }, accounts, audit }: OperatorChangeParts,
  by: Actor,
  action: components['schemas']['AuditAction'],
  run: (transaction: Transaction<Tables>) => Promise<Changed>,
): Promise<void> {
  const { id: accountId } = await accounts.first()
  await db.transaction().execute(async (transaction) => {
    const changed = await run(transaction)
    await audit.write(transaction, by, { account_id: accountId, action, ...changed })
  })
}
