import type { Schemas } from '../../data/api.ts'

type Call = Schemas['RequestRecord']

const looks: Record<Schemas['CallOutcome'], string> = {
  ok: 'good',
  failed: 'wrong',
  cancelled: '',
  unknown: 'warn',
}

/** Outcome of a call, or the error code of a failed call. */
export function Outcome({ call }: { call: Pick<Call, 'outcome' | 'error_code' | 'cache'> }) {
  const { outcome } = call
  const isCached = call.cache === 'hit' && outcome === 'ok'
  const text = outcome === 'failed' ? (call.error_code ?? outcome) : outcome
  return (
    <span class={`state ${looks[outcome]}`} title={call.error_code ?? undefined}>
      {isCached ? 'cached' : text}
    </span>
  )
}
