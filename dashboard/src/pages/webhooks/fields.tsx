import { textLengths, WebhookEventTypeValues } from '../../../../generated/client-values.ts'
import type { Schemas } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { Field } from '../../elements/field.tsx'
import { NameField } from '../../elements/name-field.tsx'

type EventType = Schemas['WebhookEventType']

const eventTexts: Record<EventType, string> = {
  'image.job.completed': 'a job has its pictures',
  'image.job.failed': 'a job has failed',
  'response.completed': 'a response in the background is complete',
  'response.failed': 'a response has failed',
  'response.incomplete': 'a response has ended early',
  'response.cancelled': 'a response was cancelled',
}

type Props = { faultAt: (param: string) => string | undefined }

/** Fields of a new webhook. */
export function WebhookFields({ faultAt }: Props) {
  const fault = faultAt('events')
  return (
    <>
      <NameField hint="For example, the server that receives the events." fault={faultAt('name')} />
      <Field label="Address" hint="A public https address on port 443." fault={faultAt('url')}>
        {(attributes) => (
          <input
            {...attributes}
            name="url"
            type="url"
            required
            maxLength={textLengths.WebhookUrl.max}
          />
        )}
      </Field>
      <fieldset>
        <legend>Events</legend>
        {WebhookEventTypeValues.map((type) => (
          <label class="choice" key={type}>
            <input
              type="checkbox"
              name="events"
              value={type}
              defaultChecked={/completed|failed/.test(type)}
            />
            <span>
              {type} <span class="quiet">{eventTexts[type]}</span>
            </span>
          </label>
        ))}
        {fault !== undefined && <p class="fault">{fault}</p>}
      </fieldset>
    </>
  )
}

/** The values of the fields. */
export function fieldsOf(form: FormData): Pick<Schemas['NewWebhook'], 'name' | 'url' | 'events'> {
  const { name = '', url = '' } = textsOf(form)
  const chosen = form.getAll('events')
  const events = WebhookEventTypeValues.filter((type) => chosen.includes(type))
  return { name: name.trim(), url: url.trim(), events }
}
