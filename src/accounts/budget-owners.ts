import { sql, type Kysely, type RawBuilder } from 'kysely'
import { sqlDialectOf, tagsOf, type SqlDialect } from '../storage/sql-dialect.ts'
import type { Tables } from '../storage/tables.ts'

/** What a budget belongs to; the ids of people in an account and of tags of a key are made here. */
export type OwnerKind = 'account' | 'key' | 'member' | 'tag'

/** The owner of what a person spends in an account, as the triggers name it (storage/migrations/budgets.ts). */
export function memberOwner(accountId: string, personId: string): string {
  return `${accountId}:${personId}`
}

/** The owner of what the calls of a key with a tag spend. */
export function tagOwner(keyOwner: string, tag: string): string {
  return `${keyOwner}#${tag}`
}

type Owner = { accountId: string; ownerId: string }

export function kindOf({ accountId, ownerId }: Owner): OwnerKind {
  if (ownerId === accountId) return 'account'
  if (ownerId.includes('#')) return 'tag'
  return ownerId.startsWith(`${accountId}:`) ? 'member' : 'key'
}

/** SQL for what counts for an owner: a table of calls, its column of times, and a condition on calls and reservations. */
export function countedBy(db: Kysely<Tables>, owner: Owner) {
  const { accountId, ownerId } = owner
  const dialect = sqlDialectOf(db)
  const hours = { calls: sql`usage_hours`, time: sql`hour_at` }
  // Several keys may share one budget, whose owner is then in their column `counts_with`.
  const ofKey = (keyOwner: string) => sql` and (key_id = ${keyOwner} or key_id in (
    select id from api_keys where account_id = ${accountId} and counts_with = ${keyOwner}))`
  switch (kindOf(owner)) {
    case 'account':
      return { ...hours, mayCount: sql`` }
    case 'key':
      return { ...hours, mayCount: ofKey(ownerId) }
    case 'member': {
      const personId = ownerId.slice(accountId.length + 1)
      const mayCount = sql` and key_id in (
        select id from api_keys where account_id = ${accountId} and created_by = ${personId})`
      return { ...hours, mayCount }
    }
    case 'tag': {
      const { keyOwner, tag } = tagIn(ownerId)
      // Only rows have tags; an index has the tagged ones.
      const mayCount = sql`${ofKey(keyOwner)} and tags is not null
        and exists (select 1 from ${tagsOf(dialect, sql`tags`)} where tags_of_row.value = ${tag})`
      return { calls: taggedCalls[dialect], time: sql`at`, mayCount }
    }
  }
}

/** SQL: the calls with tags, of which SQLite would read all. */
export const taggedCalls: Readonly<Record<SqlDialect, RawBuilder<unknown>>> = {
  sqlite: sql`usage indexed by usage_tagged`,
  postgres: sql`usage`,
}

/** The key and the tag of an owner of kind `tag`. */
export function tagIn(ownerId: string): { keyOwner: string; tag: string } {
  const at = ownerId.indexOf('#')
  return { keyOwner: ownerId.slice(0, at), tag: ownerId.slice(at + 1) }
}

/** SQL: the owner of a kind in which the row `one` counts; its key is `k` and a tag of it `tags_of_row.value`. */
export const ownerOfRow: Readonly<Record<OwnerKind, RawBuilder<string>>> = {
  account: sql`one.account_id`,
  // Several keys may share one budget, whose owner is then in their column `counts_with`.
  key: sql`coalesce(k.counts_with, one.key_id)`,
  member: sql`one.account_id || ':' || k.created_by`,
  tag: sql`coalesce(k.counts_with, one.key_id) || '#' || tags_of_row.value`,
}
