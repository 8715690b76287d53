/** `npm run attack`: attacks a gateway, and exits with 1 when it breaks a promise. */
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeFolder } from '../../test/support/folder.ts'
import { kindOf, type Failure } from './attack.ts'
import { attacks } from './attacks.ts'
import { readOptions } from './options.ts'
import { runAttacks } from './run.ts'
import { table } from './table.ts'

const shownMax = 20
const shownBytesMax = 600

const options = readOptions(attacks)
const { seed, project } = options
console.error(`Seed ${seed}, the gateway of ${project}.`)
const folder = makeFolder()
process.once('exit', () => folder.remove())
// A signal would not reach the gateways, which are separate process groups. `exit` ends them.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
const startedAt = performance.now()
const rows = await runAttacks({
  ...options,
  folder: folder.path,
  onStart: (name) => console.error(`${name} ...`),
})
console.log(`\n${table(rows)}\n`)
const failed = rows.flatMap(({ name, outcome }) =>
  outcome.failures.map((failure) => ({ name, failure })),
)
const kinds = [...Map.groupBy(failed, ({ name, failure }) => `${name} ${kindOf(failure)}`).values()]
kinds.slice(0, shownMax).forEach(([first, ...others], index) => {
  const { name, failure } = first!
  const more = others.length === 0 ? '' : ` (${others.length} more of this kind)`
  console.log(`\n${name}: ${failure.what}${more}`)
  console.log(`npm run attack -- --only ${name} --seed ${seed}`)
  showRequest(failure, index)
})
const seconds = Math.round((performance.now() - startedAt) / 1000)
console.log(`\nseed: ${seed}, ${seconds} s\nfailed: ${failed.length}`)
process.exit(failed.length === 0 ? 0 : 1)

function showRequest({ request }: Failure, index: number): void {
  if (request.length === 0) return
  const bytes = Buffer.from(request)
  const file = join(tmpdir(), `attack-${seed}-${index + 1}.http`)
  writeFileSync(file, bytes)
  console.log(`The bytes to send (${bytes.length}) are in ${file}:`)
  console.log(JSON.stringify(bytes.toString('utf8', 0, shownBytesMax)))
}
