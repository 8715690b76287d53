import type { components } from '../../../generated/types.ts'
import { GatewayError } from '../../core/error.ts'

type Webhook = components['schemas']['Webhook']
type Kind = Webhook['kind']

/** Throws `invalid_value` for events that never arrive: alerts concern live calls, and people receive alerts alone. */
export function assertEvents({ kind, mode, events }: Pick<Webhook, 'kind' | 'mode' | 'events'>) {
  const isAlert = (type: string): boolean => type.startsWith('alert.')
  const alert = mode === 'test' ? events.find(isAlert) : undefined
  if (alert !== undefined)
    throw invalid('events', `Alerts concern live calls. Set mode to live, or leave out ${alert}.`)
  const other = kind === 'webhook' ? undefined : events.find((type) => !isAlert(type))
  if (other !== undefined)
    throw invalid('events', `The kind ${kind} receives alerts only. Leave out ${other}.`)
}

/** What decides whether an address may receive. */
export type Receivers = {
  /** A sentence on why an address is refused, without secrets; undefined if it is public now. */
  refusalOf: (address: string) => Promise<string | undefined>
  /** Whether the operator has set a mail server. */
  sendsMail: boolean
}

/** The local part and domain of RFC 5321 without quotes and comments, so that it names one mailbox. */
const mailbox = /^mailto:[\w.!#$&'*+/=^`{|}~-]{1,64}@[a-z\d](?:[a-z\d.-]{0,251}[a-z\d])?$/i

/** Throws `invalid_value` for an address that this kind cannot have. */
export async function assertAddress(
  { refusalOf, sendsMail }: Receivers,
  kind: Kind,
  url: string,
): Promise<void> {
  if (kind === 'email') {
    if (!sendsMail)
      throw invalid(
        'kind',
        'This gateway sends no mail. Ask its operator to set SMTP_URL and MAIL_FROM, or use the kind slack or webhook.',
      )
    if (mailbox.test(url)) return
    throw invalid('url', 'Enter one mail address after mailto:, as mailto:alerts@example.com.')
  }
  const refusal = await refusalOf(url)
  if (refusal === undefined) return
  const text = `${refusal} Enter an https address on port 443 that the internet can reach.`
  throw invalid('url', text)
}

/** The address that is shown: that of Slack is a secret, of which the origin is shown. */
export function shownUrl(kind: Kind, url: string): string {
  return kind === 'slack' ? new URL(url).origin : url
}

/** An `invalid_value` of a parameter. */
export function invalid(param: string, text: string): GatewayError {
  return new GatewayError('invalid_value', text, { param })
}
