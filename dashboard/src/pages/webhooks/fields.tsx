import { textLengths, WebhookEventTypeValues } from '../../../../generated/client-values.ts'
import type { Schemas } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { SelectField } from '../../elements/controls.tsx'
import { InputField } from '../../elements/field.tsx'
import { NameField } from '../../elements/name-field.tsx'

type EventType = Schemas['WebhookEventType']
type Kind = Schemas['WebhookKind']

export const kinds: Record<Kind, string> = {
  slack: 'Slack',
  email: 'E-mail',
  webhook: 'Server, with signed events',
}

const eventTexts: Record<EventType, string> = {
  'image.job.completed': 'a job has its pictures',
  'image.job.failed': 'a job has failed',
  'response.completed': 'a response in the background is complete',
  'response.failed': 'a response has failed',
  'response.incomplete': 'a response has ended early',
  'response.cancelled': 'a response was cancelled',
  'alert.budget_reached': '50, 80 or 100 % of a budget is spent',
  'alert.budget_refused': 'a budget refuses calls',
  'alert.provider_failing': 'a provider fails',
  'alert.provider_key_refused': 'a provider refuses its key',
  'alert.spending_unusual': 'an hour costs more than $1 and three times the same hour before',
}

const isAlert = (type: EventType): boolean => type.startsWith('alert.')

/** An event in words where only people read it. */
export function eventText(type: EventType, kind: Kind): string {
  return kind === 'webhook' ? type : eventTexts[type]
}

type FaultAt = (param: string) => string | undefined

/** The name and the events of a webhook; alerts alone for people. */
export function EventFields({ kind, webhook, faultAt }: EventProps) {
  const fault = faultAt('events')
  const types = WebhookEventTypeValues.filter((type) => kind === 'webhook' || isAlert(type))
  const isChosen = (type: EventType): boolean => {
    if (webhook !== undefined) return webhook.events.includes(type)
    return isAlert(type) ? kind !== 'webhook' : /completed|failed/.test(type)
  }
  return (
    <>
      <NameField
        hint="For example, who or what receives it."
        name={webhook?.name}
        fault={faultAt('name')}
      />
      <fieldset key={kind}>
        <legend>{kind === 'webhook' ? 'Events' : 'Alerts'}</legend>
        {types.map((type) => (
          <label class="choice" key={type}>
            <input type="checkbox" name="events" value={type} defaultChecked={isChosen(type)} />
            <span>
              {kind === 'webhook' && `${type} `}
              <span class={kind === 'webhook' ? 'quiet' : ''}>{eventTexts[type]}</span>
            </span>
          </label>
        ))}
        {fault !== undefined && <p class="fault">{fault}</p>}
      </fieldset>
    </>
  )
}

type EventProps = { kind: Kind; webhook?: Schemas['Webhook']; faultAt: FaultAt }

const addresses: Record<Kind, { label: string; hint: string }> = {
  webhook: { label: 'Address', hint: 'A public https address on port 443.' },
  slack: {
    label: 'Address',
    hint: 'The incoming webhook of a channel. It is kept secret.',
  },
  email: { label: 'Mail address', hint: 'Mails are sent by the mail server of the gateway.' },
}

/** The kind of a new webhook, and its address. */
export function AddressFields({ kind, onKind, faultAt }: AddressProps) {
  const { max: maxLength } = textLengths.WebhookUrl
  const fault = faultAt('url')
  const address = { ...addresses[kind], fault, name: 'url', required: true, maxLength }
  return (
    <>
      <SelectField
        label="Send to"
        fault={faultAt('kind')}
        name="kind"
        choices={Object.entries(kinds)}
        chosen={kind}
        onChoose={(value) => onKind(value as Kind)}
      />
      {kind === 'email' ? (
        <InputField {...address} key={kind} type="email" />
      ) : (
        <InputField {...address} key={kind} type="url" />
      )}
    </>
  )
}

type AddressProps = { kind: Kind; onKind: (kind: Kind) => void; faultAt: FaultAt }

/** Where a webhook sends to, in short. */
export function placeOf({ kind, url }: Pick<Schemas['Webhook'], 'kind' | 'url'>): string {
  return kind === 'email' ? url.replace('mailto:', '') : new URL(url).host
}

/** The values of the fields. */
export function fieldsOf(form: FormData, kind: Kind) {
  const { name = '', url = '' } = textsOf(form)
  const chosen = form.getAll('events')
  const events = WebhookEventTypeValues.filter((type) => chosen.includes(type))
  const address = kind === 'email' ? `mailto:${url.trim()}` : url.trim()
  return { name: name.trim(), url: address, events }
}
