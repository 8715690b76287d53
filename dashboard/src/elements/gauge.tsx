import type { Schemas } from '../data/api.ts'
import { periodTexts } from '../data/budget-periods.ts'
import { Money } from './money.tsx'
import { Time } from './time.tsx'

type State = Pick<
  Schemas['BudgetState'],
  'amount' | 'period' | 'spent' | 'reserved' | 'left' | 'renews_at'
>

/** State of a budget: spent, reserved for calls in progress, and left. */
export function Gauge({ budget }: { budget: State }) {
  const { amount, spent, reserved, left } = budget
  const share = (nanoUsd: number) =>
    amount.nano_usd === 0 ? 100 : Math.min((nanoUsd / amount.nano_usd) * 100, 100)
  const spentShare = share(spent.nano_usd)
  const reservedShare = Math.min(share(reserved.nano_usd), 100 - spentShare)
  return (
    <div class="gauge">
      <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect class="gauge-ground" width="100" height="4" />
        <rect
          class={spentShare >= 90 ? 'gauge-full' : 'gauge-spent'}
          width={spentShare}
          height="4"
        />
        <rect class="gauge-reserved" x={spentShare} width={reservedShare} height="4" />
      </svg>
      <p>
        <Money usd={spent.usd} /> spent of <Money usd={amount.usd} /> {periodTexts[budget.period]}
        {reserved.nano_usd > 0 && (
          <>
            , <Money usd={reserved.usd} /> reserved
          </>
        )}
        , <Money usd={left.usd} /> left
        {budget.renews_at !== null && (
          <>
            ; resets <Time at={budget.renews_at} />
          </>
        )}
        .
      </p>
    </div>
  )
}
