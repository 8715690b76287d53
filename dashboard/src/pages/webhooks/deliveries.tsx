import { bodyOf, GET, POST, type Schemas } from '../../data/api.ts'
import { useAct } from '../../data/load.ts'
import { usePages } from '../../data/pages.ts'
import { accountQuery } from '../../data/session.ts'
import { Failure } from '../../elements/failure.tsx'
import { More } from '../../elements/more.tsx'
import { Said, useSaid } from '../../elements/said.tsx'
import { acts, Table } from '../../elements/table.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'

type Delivery = Schemas['WebhookDelivery']

const looks = { pending: 'warn', delivered: 'good', failed: 'wrong' } as const
/** A delivery that was queued is attempted within this time. */
const attemptMs = 1500

/** The deliveries of a webhook, newest first, with a button for a test event. */
export function Deliveries({ webhook: { id, enabled } }: { webhook: Schemas['Webhook'] }) {
  const params = { path: { id }, query: accountQuery() }
  const deliveries = usePages(`deliveries ${id} ${enabled}`, (page, signal) => {
    const query = { ...accountQuery(), ...page }
    return bodyOf(GET('/api/webhooks/{id}/deliveries', { params: { ...params, query }, signal }))
  })
  const [said, say] = useSaid()
  const queued = (text: string) => {
    say(text)
    deliveries.again()
    setTimeout(deliveries.again, attemptMs)
  }
  const testing = useAct(async () => {
    await bodyOf(POST('/api/webhooks/{id}/test', { params }))
    queued('A test event is being sent.')
  })
  return (
    <section class="card">
      <div class="head">
        <h2>Deliveries</h2>
        <button type="button" class="plain" onClick={() => void testing.run()}>
          Send a test event
        </button>
      </div>
      <Said said={said} />
      <Failure error={testing.error} />
      <WhenLoaded loaded={deliveries} what="Loading the deliveries">
        {(all) =>
          all.length === 0 ? (
            <p class="quiet">No deliveries in the last 30 days.</p>
          ) : (
            <Table
              label="Deliveries"
              class="stacked"
              columns={['Event', 'Object', 'State', 'Attempts', acts]}
            >
              {all.map((one) => (
                <Row key={one.id} delivery={one} mayRedeliver={enabled} onQueued={queued} />
              ))}
            </Table>
          )
        }
      </WhenLoaded>
      <More more={deliveries.more} />
    </section>
  )
}

type RowProps = { delivery: Delivery; mayRedeliver: boolean; onQueued: (said: string) => void }

function Row({ delivery, mayRedeliver, onQueued }: RowProps) {
  const { id, webhook_id: webhookId, type, state, next_attempt_at: next } = delivery
  const redelivering = useAct(async () => {
    const path = { id: webhookId, delivery_id: id }
    const params = { path, query: accountQuery() }
    await bodyOf(POST('/api/webhooks/{id}/deliveries/{delivery_id}/redeliver', { params }))
    onQueued('The event is being sent again.')
  })
  return (
    <tr>
      <td class="first">
        {type}
        <br />
        <span class="hint">
          <Time at={delivery.created_at} />
        </span>
      </td>
      <td class={type === 'webhook.test' ? 'minor' : 'across whole'}>
        {type !== 'webhook.test' && <code>{delivery.object_id}</code>}
      </td>
      <td class="beside">
        <span class={`state ${looks[state]}`}>{state}</span>
        {next !== null && (
          <>
            <br />
            <span class="hint">
              next <Time at={next} />
            </span>
          </>
        )}
      </td>
      <td class="across">
        <Attempts delivery={delivery} />
      </td>
      <td class="act across">
        {mayRedeliver && type !== 'webhook.test' && (
          <button
            type="button"
            class="plain small"
            aria-label={`Redeliver ${type} ${delivery.object_id}`}
            onClick={() => void redelivering.run()}
          >
            Redeliver
          </button>
        )}
        <Failure error={redelivering.error} />
      </td>
    </tr>
  )
}

function Attempts({ delivery: { attempts } }: { delivery: Delivery }) {
  if (attempts.length === 0) return <span class="quiet">none yet</span>
  return (
    <>
      {attempts.map(({ at, status, error, duration_ms: ms }) => (
        <div key={at}>
          {error ?? `${status}, ${ms} ms`}{' '}
          <span class="hint">
            <Time at={at} />
          </span>
        </div>
      ))}
    </>
  )
}
