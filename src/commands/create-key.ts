import { bodyChecks } from '../../generated/checks.js'
import type { components } from '../../generated/types.ts'
import { commandLine } from '../accounts/audit.ts'
import { allowanceIn, allowanceOptions, checkedBody, given, listIn, namingOptions } from './body.ts'
import { json, jsonText, parsed, text, UsageError, type Command } from './command.ts'
import { nameIn } from './name.ts'
import { withStore } from './with-store.ts'

type CreatedKey = components['schemas']['CreatedApiKey']

const options = {
  account: text,
  kind: text,
  mode: text,
  name: text,
  scopes: text,
  models: text,
  ...allowanceOptions,
  'allow-ip': { type: 'string', multiple: true },
  'expires-in-days': text,
  ...json,
} as const

/** keys create: prints the secret alone, this once; of a client with its id. */
export const createKey: Command = async (words, context) => {
  const { values } = parsed(words, options)
  const { mode, 'expires-in-days': days } = values
  if (mode !== 'test' && mode !== 'live') throw new UsageError('Say --mode test or --mode live.')
  const body = {
    kind: values.kind,
    name: nameIn(values.name),
    mode,
    scopes: listIn('scopes', values.scopes),
    models: listIn('models', values.models),
    allowed_addresses: values['allow-ip']?.flatMap((one) => listIn('allow-ip', one) ?? []),
    expires_at: days === undefined ? undefined : endIn(days),
    ...allowanceIn(values),
  }
  const asked = checkedBody(bodyChecks.createKey, given(body))
  return withStore('create', context, async ({ accounts, keys }) => {
    const { id: first } = await accounts.first()
    const { id } = await accounts.retrieve(commandLine, values.account ?? first)
    const made = await keys.create(commandLine, id, asked).catch((error: unknown) => {
      throw namingOptions(error)
    })
    return { text: values.json === true ? jsonText(made) : secretText(made) }
  })
}

/** What a client signs in with is two values, as lines of a file of variables. */
function secretText({ key, client_id: id }: CreatedKey): string {
  return id === undefined ? `${key}\n` : `CLIENT_ID=${id}\nCLIENT_SECRET=${key}\n`
}

/** A hundred years. */
const daysMax = 36_500

function endIn(option: string): string {
  const days = /^\d{1,6}(\.\d{1,30})?$/.test(option) ? Number(option) : 0
  if (days > 0 && days <= daysMax) return new Date(Date.now() + days * 86_400_000).toISOString()
  throw new UsageError(`--expires-in-days takes a number above 0, at most ${daysMax}.`)
}
