import { randomUUID } from 'node:crypto'
import type { Target } from './target.ts'

export const allowedModel = 'own/house-1'

/** The keys beside those of the gateway, each for what it must not do. */
export type AccessKeys = {
  /** Of the first account, for one model. */
  limited: string
  /** Of another account. */
  stranger: string
  /** To be revoked, with the name by which it is listed. */
  doomed: { key: string; name: string }
  /** It expires soon, between these times of `performance.now`. */
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
  // The last, so that it lives as long as it can.
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
