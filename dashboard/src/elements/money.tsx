import { exactUsd, shortUsd } from '../data/money.ts'

/** An amount as people read it; the exact one is its title. Null where nobody knows it. */
export function Money({ usd }: { usd: string | null | undefined }) {
  if (usd === null || usd === undefined) return <span class="quiet">unknown</span>
  const [short, exact] = [shortUsd(usd), exactUsd(usd)]
  return (
    <data class="money" value={usd} title={short === exact ? undefined : exact}>
      {short}
    </data>
  )
}
