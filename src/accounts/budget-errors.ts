import { GatewayError } from '../core/error.ts'
import { usdText } from '../core/money/price.ts'
import { kindOf, tagIn, type OwnerKind } from './budget-owners.ts'
import { stateOf, unspentOf, type Spending } from './spendings.ts'

/** `Retry-After` of a call that found its money held by others. */
const heldRetrySeconds = 2

/** Why a call is refused that costs up to this amount: its money is spent, or only held by running calls. */
export function refusalOf(spending: Spending, nanoUsd: number): GatewayError {
  if (unspentOf(spending) < nanoUsd) return insufficient(spending, nanoUsd)
  const budget = stateOf(spending)
  const text =
    `${budgetOf(spending)} covers this call, which may cost up to $${usdText(nanoUsd)}, ` +
    `but calls under way hold the money: of $${budget.amount.usd}, $${budget.spent.usd} is spent and ` +
    `$${budget.reserved.usd} is held. Try again in ${heldRetrySeconds} s, or ask for less ` +
    '(max_completion_tokens, n, a smaller size), so that each call holds less.'
  const options = { retryAfterSeconds: heldRetrySeconds, progress: { budget } }
  return new GatewayError('rate_limit_exceeded', text, options)
}

function budgetOf(spending: Spending): string {
  return budgets[kindOf(spending)](spending)
}

const budgets: Record<OwnerKind, (spending: Spending) => string> = {
  account: () => 'The budget of the account',
  key: () => 'The budget of this API key',
  member: () => 'Your budget in this account, for all your keys, sessions and connections,',
  tag: ({ ownerId }) => `The budget of this API key for the tag '${tagIn(ownerId).tag}'`,
}

const raisers: Record<OwnerKind, string> = {
  account: 'have the budget raised',
  key: 'have the budget raised',
  member: 'ask an administrator of the account to raise it',
  tag: 'have the budget raised',
}

function insufficient(spending: Spending, nanoUsd: number): GatewayError {
  const budget = stateOf(spending)
  const { period, renews_at: renewal } = budget
  const reserved =
    spending.reserved === 0 ? '' : `, $${budget.reserved.usd} is held by calls under way`
  const per = period === 'total' ? 'in total' : `per ${period}`
  const then = renewal === null ? 'It does not renew' : `It renews at ${renewal}`
  const text =
    `${budgetOf(spending)} does not cover this call, which may cost up to $${usdText(nanoUsd)}: ` +
    `of $${budget.amount.usd} ${per}, $${budget.left.usd} is left${reserved}. ${then}. ` +
    'Ask for less (max_completion_tokens, n, a smaller size), choose a cheaper model, ' +
    `or ${raisers[kindOf(spending)]}.`
  return new GatewayError('insufficient_quota', text, { progress: { budget } })
}
