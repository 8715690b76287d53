import type { Schemas } from './api.ts'

/** For how long a budget is, as said after its amount. */
export const periodTexts: Readonly<Record<Schemas['BudgetPeriod'], string>> = {
  day: 'a day',
  month: 'a month',
  total: 'in total',
}
