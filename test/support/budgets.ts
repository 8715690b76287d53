import { digestOf } from '../../src/accounts/api-key.ts'
import type { SpendingLimit } from '../../src/core/caller.ts'
import type { TestGateway } from './gateway.ts'

export const nanoPerUsd = 1_000_000_000

/** Sets or removes the budget of a key. */
export async function setBudgetOfKey(
  { db }: Pick<TestGateway, 'db'>,
  key: string,
  budget: SpendingLimit | null,
): Promise<void> {
  await db
    .updateTable('api_keys')
    .set(columns(budget))
    .where('digest', '=', digestOf(key))
    .execute()
}

/** Sets or removes the budget of all accounts. */
export async function setBudgetOfAccount(
  { db }: Pick<TestGateway, 'db'>,
  budget: SpendingLimit | null,
): Promise<void> {
  await db.updateTable('accounts').set(columns(budget)).execute()
}

function columns(budget: SpendingLimit | null) {
  return { budget_nano_usd: budget?.nanoUsd ?? null, budget_period: budget?.period ?? null }
}
