/**
 * Runs the scenarios for authorization servers of the public conformance suite against the gateway: `npm run
 * conformance:authorization`. The consent is given by submitting the forms of the pages.
 */
import { join } from 'node:path'
import { freePort } from '../../scripts/free-port.ts'
import { startGateway } from '../support/gateway.ts'
import { registered } from '../support/oauth-client.ts'
import { approveClient } from '../support/oauth-person.ts'
import { startProgram } from '../support/program.ts'
import { projectFolder } from '../support/folder.ts'

const gateway = await startGateway()
const port = String(await freePort())
const { client_id: clientId } = await registered(gateway, {
  redirect_uris: [`http://127.0.0.1:${port}/callback`],
})
const script = join(projectFolder, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
const target = ['authorization', '--url', gateway.url, '--client-id', clientId, '--port', port]
const resource = ['--resource', `${gateway.url}/mcp`]
const suite = startProgram(process.execPath, [script, ...target, ...resource], {
  folder: projectFolder,
})

// Opens the authorization URL that the suite prints; the suite waits for the redirect.
void suite
  .printed(/https?:\/\/\S+\/oauth\/authorize\?\S+/)
  .then(async ([address]) => fetch(await approveClient(gateway, address)))
  .catch((error: unknown) => process.stderr.write(`${String(error)}\n`))
const { code, stdout, stderr } = await suite.ended
process.stdout.write(stdout)
process.stderr.write(stderr)
await gateway.stop()
process.exitCode = code ?? 1
