import { AuditActionValues } from '../../../../generated/client-values.ts'
import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { usePages } from '../../data/pages.ts'
import { chosenIn, place, setQuery } from '../../data/place.ts'
import { accountQuery } from '../../data/session.ts'
import { CopyButton } from '../../elements/copy.tsx'
import { ChoiceFilter, ClearFilters, isFilteredBy } from '../../elements/filters.tsx'
import { More } from '../../elements/more.tsx'
import { Table } from '../../elements/table.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { actorOf, actionTexts, changesOf, lineOf, placeOf, targetOf } from './audit-words.ts'

type AuditEvent = Schemas['AuditEvent']

const filters = ['action', 'by', 'target'] as const

/** Audit log of the account; its filters are in the address. */
export function AuditLog() {
  const { query } = place.value
  const events = usePages(`audit ${query.toString()}`, (page, signal) => {
    const asked = { ...accountQuery(), ...chosenIn<Record<string, string>>(filters), ...page }
    return bodyOf(GET('/api/audit', { params: { query: asked }, signal }))
  })
  return (
    <section class="card">
      <div class="head">
        <h2>Audit log</h2>
        {events.data !== undefined && events.data.length > 0 && (
          <div class="row">
            <CopyButton text={events.data.map(lineOf).join('\n')} what="the log as text" />
            <a class="button plain small" href={exportAddress()} download>
              Download CSV
            </a>
          </div>
        )}
      </div>
      <Filters />
      <WhenLoaded loaded={events} what="Loading the log">
        {(all) => <Events events={all} />}
      </WhenLoaded>
      <More more={events.more} />
    </section>
  )
}

/** The address of the events that the filters select, as a file. */
function exportAddress(): string {
  const query = new URLSearchParams({
    ...accountQuery(),
    ...chosenIn<Record<string, string>>(filters),
    format: 'csv',
  })
  return `/api/audit/export?${query.toString()}`
}

function Filters() {
  const { query } = place.value
  return (
    <div class="audit-filter">
      <ChoiceFilter
        name="action"
        label="Action"
        all="all"
        choices={AuditActionValues.map((action) => [action, action])}
      />
      {isFilteredBy(filters) && (
        <p class="row">
          {query.get('by') && (
            <span>
              Only by <code>{query.get('by')}</code>
            </span>
          )}
          {query.get('target') && (
            <span>
              Only on <code>{query.get('target')}</code>
            </span>
          )}
          <ClearFilters names={filters}>Show everything</ClearFilters>
        </p>
      )}
    </div>
  )
}

function Events({ events }: { events: readonly AuditEvent[] }) {
  if (events.length === 0) {
    return (
      <div class="empty">
        <h3>No actions yet</h3>
        <p>The gateway records every change of keys, members and settings here.</p>
      </div>
    )
  }
  return (
    <Table label="Actions" class="stacked" columns={['When', 'Action', 'Address']}>
      {events.map((event) => (
        <tr key={event.id}>
          <td class="when">
            <Time at={event.at} />
          </td>
          <td class="sentence across">
            <Act event={event} />
          </td>
          <td class={event.address === null ? 'from at-end quiet' : 'from at-end'}>
            {placeOf(event)}
          </td>
        </tr>
      ))}
    </Table>
  )
}

/** Only ids with a prefix can be used as a filter. */
const isId = (text: string) => /^[a-z]{3}_/.test(text)

function Act({ event }: { event: AuditEvent }) {
  const changes = changesOf(event)
  const target = targetOf(event)
  return (
    <>
      <Narrowing name="by" id={event.by} text={actorOf(event)} /> {actionTexts[event.action]}{' '}
      {target !== '' && <Narrowing name="target" id={event.target} text={target} />}
      {changes.length > 0 && (
        <details class="changes">
          <summary>What changed</summary>
          <dl class="facts">
            {changes.map(([name, was, is]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  {event.before !== null && (
                    <>
                      <del>{was}</del> →{' '}
                    </>
                  )}
                  {is}
                </dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </>
  )
}

type NarrowingProps = { name: 'by' | 'target'; id: string; text: string }

/** A name that, when clicked, filters the log by its id. */
function Narrowing({ name, id, text }: NarrowingProps) {
  if (!isId(id)) return <strong>{text}</strong>
  return (
    <button type="button" class="link" title={id} onClick={() => setQuery({ [name]: id })}>
      {text}
    </button>
  )
}
