import { randomUUID } from 'node:crypto'
import type { Target } from './target.ts'

export const allowedModel = 'own/house-1'

/** Additional keys, each with a restriction that the attack tests. */
export type AccessKeys = {
  /** A key of the first account that may call only one model. */
  limited: string
  /** A key of another account. */
  stranger: string
  /** A key to revoke, with its name in `keys list`. */
  doomed: { key: string; name: string }
  /** A key, and the range of `performance.now` in which it expires. */
  expiring: { key: string; endsFromMs: number; endsByMs: number }
}

const lifetimeMs = 2500

export async function makeKeys({ command }: Target): Promise<AccessKeys> {
  const run = randomUUID()
  const create = (name: string, ...more: string[]) =>
    command('keys', 'create', '--mode', 'live', '--name', `${name} ${run}`, ...more)
  const other = await command('accounts', 'create', '--name', `other ${run}`)
  const [limited, stranger, doomed] = await Promise.all([
    create('limited', '--models', allowedModel),
    create('stranger', '--account', other),
    create('doomed'),
  ])
  // Creates the expiring key last, because its lifetime starts now.
  const endsFromMs = performance.now() + lifetimeMs
  const expiring = await create('expiring', '--expires-in-days', String(lifetimeMs / 86_400_000))
  const endsByMs = performance.now() + lifetimeMs
  return {
    limited,
    stranger,
    doomed: { key: doomed, name: `doomed ${run}` },
    expiring: { key: expiring, endsFromMs, endsByMs },
  }
}

export async function revoke({ command }: Target, name: string): Promise<void> {
  const line = (await command('keys', 'list')).split('\n').find((one) => one.endsWith(name)) ?? ''
  await command('keys', 'revoke', line.split(' ')[0]!)
}
