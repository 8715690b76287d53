import type { Mode } from '../../data/calling.ts'
import { addressOf } from '../../data/place.ts'

/** Maximum length of the form in a link; longer addresses are cut by mail programs and chats. */
const lengthMax = 8000

type Place = { kind: 'pictures' | 'chat'; mode: Mode; models: readonly { id: string }[] }
type Form = Record<string, string | number>

/**
 * The address that opens the same form, undefined when the form is too long. The form is in the fragment, which
 * browsers do not send to servers: no log has the prompt.
 */
export function linkTo(place: Place, form: Form): string | undefined {
  const given = Object.entries(form).flatMap(([name, value]) =>
    value === '' ? [] : [[name, String(value)]],
  )
  const text = new URLSearchParams(given).toString()
  if (text.length > lengthMax) return undefined
  return `${location.origin}${addressOf('/playground', queryOf(place))}#${text}`
}

/** Parameters of the address for a tab of the page with its models. */
export function queryOf({ kind, mode, models }: Place): Record<string, string | undefined> {
  const parameter = kind === 'chat' ? 'chat_model' : 'image_model'
  const ids = models.map(({ id }) => id).join(',')
  return { mode: mode === 'test' ? mode : undefined, tab: kind, [parameter]: ids }
}

/** Members whose texts are numbers. */
const numeric = new Set(['compression', 'seed', 'temperature', 'maxTokens'])

/** The form in the address, with members of `empty` only; the options of the models limit their values later. */
export function formInPlace<T extends Form>(empty: T): T {
  const text = location.hash.slice(1)
  const given = new URLSearchParams(text.length > lengthMax ? '' : text)
  const read = Object.entries(empty).map(([name, before]) => {
    const value = given.get(name) ?? ''
    const isNumber = /^\d{1,10}(\.\d{1,3})?$/.test(value)
    if (typeof before !== 'number') return [name, numeric.has(name) && !isNumber ? '' : value]
    return [name, isNumber ? Math.min(10, Math.max(1, Math.trunc(Number(value)))) : before]
  })
  // Each member has the type that it has in `empty`.
  return Object.fromEntries(read) as T
}
