import { takingBackFrom } from './budgets.ts'
import { callTables } from './call-tables.ts'
import { creatingDeltas } from './columns.ts'
import { addingRows, dimensions, dimensionsOf, partOf, sumsOfAdded } from './usage-hours.ts'

const { columns } = callTables.usage_hours
const list = Object.keys(columns).join(', ')

/** The columns of sums. */
export const amounts: readonly string[] = Object.keys(columns).filter(
  (name) => !dimensions.includes(name),
)

const taken = amounts.map((name) => `-(${partOf('old.', name)})`)
const into = `insert into usage_deltas (${[...dimensions, ...amounts].join(', ')})`

/** SQL that subtracts a row from PostgreSQL's sums. */
export const takenBack = `${into} values (${[...dimensionsOf('old.'), ...taken].join(', ')});`

/**
 * The statements after which PostgreSQL's triggers append to `usage_deltas`, and change no row of sums, which would be one
 * lock for all processes. `usage_hours` becomes a view of sums and deltas: its readers, those of older gateways too, find
 * exact sums in one snapshot (docs/storage.md#reports).
 */
export const appendingDeltas: readonly string[] = [
  // Waits for running inserts, whose triggers write to the table by its old name.
  'lock table usage in share row exclusive mode',
  'alter table usage_hours rename to usage_hour_sums',
  ...creatingDeltas('usage_deltas', { columns }),
  `create view usage_hours as
   select ${list} from usage_hour_sums union all select ${list} from usage_deltas`,
  addingRows(`${into} ${sumsOfAdded(amounts)};`),
  takingBackFrom(takenBack),
]
