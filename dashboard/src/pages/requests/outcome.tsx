import { Fragment } from 'preact'
import type { Schemas } from '../../data/api.ts'

type Call = Schemas['RequestRecord']

const looks: Record<Schemas['CallOutcome'], string> = {
  ok: 'good',
  failed: 'wrong',
  cancelled: '',
  unknown: 'warn',
}

/** Outcome of a call, with the error code of a failed call. */
export function Outcome({ call }: { call: Pick<Call, 'outcome' | 'error_code' | 'cache'> }) {
  const { outcome, error_code: code } = call
  const isCached = call.cache === 'hit' && outcome === 'ok'
  // The code breaks after an underscore.
  const parts = code?.split(/(?<=_)/) ?? []
  return (
    <>
      <span class={`state ${looks[outcome]}`}>{isCached ? 'cached' : outcome}</span>
      {parts.length > 0 && (
        <span class="hint cause">
          {' '}
          {parts.map((part) => (
            <Fragment key={part}>
              {part}
              <wbr />
            </Fragment>
          ))}
        </span>
      )}
    </>
  )
}
