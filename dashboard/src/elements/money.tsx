import { decimalsOf, exactUsd, shortUsd } from '../data/money.ts'

type Props = {
  usd: string | null | undefined
  /** Number of decimals for a column of amounts: that of the longest amount. */
  places?: number
  isShort?: boolean
}

/**
 * An amount: rounded, with the exact value as its title; exact in a column with `places`, unless it `isShort`;
 * "unknown" for null.
 */
export function Money({ usd, places, isShort = places === undefined }: Props) {
  if (usd === null || usd === undefined) return <span class="quiet">unknown</span>
  const exact = exactUsd(usd)
  const text = isShort ? shortUsd(usd) : exact
  return (
    <data
      class="money"
      value={usd}
      title={text === exact ? undefined : exact}
      style={
        places === undefined
          ? undefined
          : { paddingRight: `${Math.max(0, places - decimalsOf(text))}ch` }
      }
    >
      {text}
    </data>
  )
}
