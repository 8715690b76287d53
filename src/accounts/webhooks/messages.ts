import type { AlertType } from '../alerts/crossings.ts'
import type { components } from '../../../generated/types.ts'

export type AlertData = components['schemas']['AlertEvent']['data']
/** The `data` of an event; an id alone unless it is an alert. */
export type EventData = Pick<AlertData, 'id'> & Partial<AlertData>

/** An event in words, for people. */
export type Message = { title: string; text: string; link: string }

const titles: Readonly<Record<AlertType, string>> = {
  'alert.budget_reached': 'Budget threshold reached',
  'alert.budget_refused': 'Budget refuses calls',
  'alert.provider_failing': 'Provider fails',
  'alert.provider_key_refused': 'Provider refuses its key',
  'alert.spending_unusual': 'Unusual spending',
}

/** The message of an alert, or of a test. */
export function messageOf(type: string, data: EventData, dashboard: string): Message {
  const { id, text, link } = data
  if (text !== undefined && link !== undefined)
    return { title: titles[type as AlertType], text, link }
  const test = 'This is a test. Alerts of the account arrive here.'
  return { title: 'Test alert', text: test, link: `${dashboard}/webhooks/${id}` }
}

/** The body for an incoming webhook of Slack (https://api.slack.com/messaging/webhooks). */
export function slackBody({ title, text, link }: Message): string {
  const [bold, plain] = [title, text].map(escaped)
  const section = { type: 'mrkdwn', text: `*${bold}*\n${plain}\n<${link}|Open the dashboard>` }
  return JSON.stringify({ text: `${bold}: ${plain}`, blocks: [{ type: 'section', text: section }] })
}

/** Slack reads these characters as links and mentions; a key may have any name. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
