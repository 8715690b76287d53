import type { Attack, Context, Outcome } from './attack.ts'
import { makeKeys } from './access-keys.ts'
import { endedKeys } from './ended-keys.ts'
import { forbiddenModels } from './forbidden-models.ts'
import { imageJobs } from './image-jobs.ts'
import { malformedKeys } from './malformed-keys.ts'
import { accountIsolation } from './account-isolation.ts'

/** Limits of keys: allowed models, expiry and revocation, data of other accounts, malformed keys, links and jobs. */
export const access: Attack = { name: 'access', run }

async function run(context: Context): Promise<Outcome> {
  const keys = await makeKeys(context.target)
  const parts = { endedKeys, accountIsolation, malformedKeys, forbiddenModels, imageJobs }
  const outcomes = await Promise.all(
    Object.entries(parts).map(async ([name, part]) => {
      const { tried, failures } = await part(context, keys)
      const named = failures.map(({ what, request }) => ({ what: `${name}: ${what}`, request }))
      return { name, tried, failures: named }
    }),
  )
  return {
    tried: outcomes.reduce((sum, { tried }) => sum + tried, 0),
    failures: outcomes.flatMap(({ failures }) => failures),
    figures: Object.fromEntries(outcomes.map(({ name, tried }) => [name, tried])),
  }
}
