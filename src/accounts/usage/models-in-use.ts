import { sql } from 'kysely'
import type { Reader } from '../../storage/reader.ts'
import { listIn } from '../key-form.ts'
import { inState } from '../key-list.ts'
import { dayMs } from './range.ts'

const modelsMax = 200

/** Ids of the models of live calls in the last 30 days, most used first, and those of active live keys. */
export async function modelsInUse({ db }: Pick<Reader, 'db'>, nowMs: number) {
  // The condition on accounts lets the primary key find the last days.
  const used = await sql<{ model: string }>`
    select model from usage_hours
    where account_id in (select id from accounts) and mode = 'live'
      and hour_at >= ${nowMs - 30 * dayMs} and outcome = 'ok'
    group by model order by sum(calls) desc limit ${sql.lit(modelsMax)}`.execute(db)
  const keys = await inState(db.selectFrom('api_keys'), 'active', nowMs)
    .select('allowed_models')
    .distinct()
    .where('mode', '=', 'live')
    .where('allowed_models', 'is not', null)
    .limit(modelsMax)
    .execute()
  const ofKeys = keys.flatMap(({ allowed_models: models }) => listIn(models) ?? [])
  return { called: used.rows.map(({ model }) => model), ofKeys }
}
