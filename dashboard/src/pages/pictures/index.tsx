import { modeInPlace } from '../../data/ranges.ts'
import { place } from '../../data/place.ts'
import { ChoiceFilter, ClearFilters } from '../../elements/filters.tsx'
import { Toggle } from '../../elements/toggle.tsx'
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
        <div class="segments" role="group" aria-label="Live or sandbox">
          <Toggle isOn={mode === 'live'} change={{ mode: undefined }}>
            Live
          </Toggle>
          <Toggle isOn={mode === 'test'} change={{ mode: 'test' }}>
            Sandbox
          </Toggle>
        </div>
      </div>
      <div class="row job-filters" role="group" aria-label="Filters">
        <ChoiceFilter all="all" name="status" label="Status" choices={statuses} />
        <ClearFilters names={['status']} />
      </div>
      <Jobs key={`${mode} ${status}`} mode={mode} status={status} />
    </>
  )
}
