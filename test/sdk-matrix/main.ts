/**
 * Tests the contract with common client generators: `npm run sdk-matrix`. Arguments select generators and checks
 * by name. Exits with 1 when one of them fails.
 */
import { join } from 'node:path'
import { startGateway } from '../support/gateway.ts'
import { installPackages } from '../support/install-packages.ts'
import { callNames, furtherClients, ownClients, type Client } from './clients.ts'
import { documentChecks } from './document-checks.ts'
import { printTable } from './table.ts'
import { tryClient, type Trial } from './try-client.ts'

const chosen = process.argv.slice(2)
const names = [...ownClients, ...furtherClients, ...documentChecks].map(({ name }) => name)
const unknown = chosen.filter((name) => !names.includes(name))
if (unknown.length > 0) {
  throw new Error(`Unknown name ${unknown.join(', ')}. Choose from ${names.join(', ')}.`)
}
const isChosen = ({ name }: { name: string }) => chosen.length === 0 || chosen.includes(name)
const own = join(import.meta.dirname, '../../node_modules')
const tools = await installPackages(join(import.meta.dirname, 'tools'), 'sdk-matrix')
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
  ['generator', 'version', 'lines', 'any/unknown', 'generated', 'compiles', ...callNames],
  trials.map(([{ name }, { version, lines, untyped, generated, compiled, calls }]) => [
    name,
    version,
    String(lines),
    untyped,
    generated,
    compiled,
    ...callNames.map((call) => calls[call] ?? null),
  ]),
)

const checks: [string, string][] = []
const notes = trials.flatMap(([{ name, cannot = {} }]) =>
  Object.entries(cannot).map(([call, why]) => `${name} cannot make the call ${call}: ${why}.`),
)
for (const { name, note, run } of documentChecks.filter(isChosen)) {
  const complaint = await run(gateway, tools).catch(String)
  checks.push([name, complaint])
  if (note !== undefined) notes.push(`${name}: ${note}.`)
  if (complaint !== '') complaints.push(`${name}: ${complaint}`)
}
printTable(['check', 'result'], checks)
await gateway.stop()
for (const line of [...notes, '', ...complaints]) process.stdout.write(`${line}\n`)
process.exitCode = complaints.length === 0 ? 0 : 1
