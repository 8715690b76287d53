import { modeInPlace, ranges } from '../data/ranges.ts'
import { Toggle } from './toggle.tsx'

/** Buttons for the time range of a page, and for live or test keys. */
export function RangeChoice({ range }: { range: (typeof ranges)[number]['name'] }) {
  const isTest = modeInPlace() === 'test'
  return (
    <div class="row" role="group" aria-label="Range and keys">
      {ranges.map(({ name, title }) => (
        <Toggle key={name} isOn={range === name} change={{ range: name }}>
          {title}
        </Toggle>
      ))}
      <Toggle isOn={isTest} change={{ mode: isTest ? undefined : 'test' }}>
        Test keys
      </Toggle>
    </div>
  )
}
