import type { Schemas } from '../../data/api.ts'

/** Whether events are delivered. */
export function WebhookState({ webhook: { enabled, gone_at: gone } }: Props) {
  if (enabled) return <span class="state good">enabled</span>
  return (
    <span class={`state ${gone === null ? '' : 'warn'}`}>
      {gone === null ? 'disabled' : 'gone'}
    </span>
  )
}

type Props = { webhook: Schemas['Webhook'] }
