import type { Schemas } from './api.ts'

/** The period of a budget, as text after its amount. */
export const periodTexts: Readonly<Record<Schemas['BudgetPeriod'], string>> = {
  day: 'a day',
  month: 'a month',
  total: 'in total',
}
