/**
 * Tries the contract with the generators that its users have: `npm run sdk-matrix`. Names of
 * generators or checks choose among them. Exits with 1 when one of them fails.
 */
import { join } from 'node:path'
import { startGateway } from '../support/gateway.ts'
import { callNames, furtherClients, ownClients, type Client } from './clients.ts'
import { documentChecks } from './document-checks.ts'
import { printTable } from './table.ts'
import { installTools } from './tools.ts'
import { tryClient, type Trial } from './try-client.ts'

const chosen = process.argv.slice(2)
const isChosen = ({ name }: { name: string }) => chosen.length === 0 || chosen.includes(name)
const own = join(import.meta.dirname, '../../node_modules')
const tools = await installTools()
const gateway = await startGateway({ file: { limits: { requests_per_minute: 1_000_000 } } })

const clients: [Client, string][] = [
  ...ownClients.map((client): [Client, string] => [client, own]),
  ...furtherClients.map((client): [Client, string] => [client, tools]),
]
const trials: [Client, Trial][] = []
for (const [client, modules] of clients.filter(([one]) => isChosen(one))) {
  trials.push([client, await tryClient(client, gateway, modules)])
}
const complaints = trials.flatMap(([{ name }, { generated, compiled, calls }]) =>
  Object.entries({ generated, compiled, ...calls })
    .filter(([, complaint]) => complaint !== '' && complaint !== null)
    .map(([part, complaint]) => `${name}, ${part}: ${complaint}`),
)
printTable(
  ['generator', 'version', 'generated', 'compiles', ...callNames],
  trials.map(([{ name }, { version, generated, compiled, calls }]) => [
    name,
    version,
    generated,
    compiled,
    ...callNames.map((call) => calls[call] ?? null),
  ]),
)
for (const [{ name, cannot = {} }] of trials) {
  const notes = Object.entries(cannot).map(([call, why]) => `${call}: ${why}`)
  if (notes.length > 0) process.stdout.write(`${name} cannot make: ${notes.join('; ')}.\n`)
}

process.stdout.write('\n')
const checks: [string, string][] = []
for (const { name, run } of documentChecks.filter(isChosen)) {
  const complaint = await run(gateway, tools).catch(String)
  checks.push([name, complaint])
  if (complaint !== '') complaints.push(`${name}: ${complaint}`)
}
printTable(['check', 'result'], checks)
await gateway.stop()
for (const complaint of complaints) process.stdout.write(`\n${complaint}\n`)
process.exitCode = complaints.length === 0 ? 0 : 1
