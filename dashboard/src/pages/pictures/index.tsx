import { modeInPlace } from '../../data/ranges.ts'
import { place } from '../../data/place.ts'
import { ChoiceFilter, ClearFilters } from '../../elements/filters.tsx'
import { ModeChoice } from '../../elements/toggle.tsx'
import { Jobs, statuses } from './jobs.tsx'
import './pictures.css'

/** Jobs of the account that make pictures, and their results while the gateway stores them. */
export function Page() {
  const mode = modeInPlace()
  const status = place.value.query.get('status') ?? ''
  return (
    <>
      <div class="head">
        <h1>Pictures</h1>
        <ModeChoice />
      </div>
      <div class="filters" role="group" aria-label="Filters">
        <div class={status === '' ? 'filter' : 'filter set'}>
          <ChoiceFilter all="all" name="status" label="Status" choices={statuses} />
        </div>
        <ClearFilters names={['status']} />
      </div>
      <Jobs key={`${mode} ${status}`} mode={mode} status={status} />
    </>
  )
}
