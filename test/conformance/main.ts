/**
 * Runs the public conformance suite of the protocol against the gateway: `npm run conformance`. What
 * follows goes to the suite as it is; CONFORMANCE_SCRIPT names another version of it.
 */
import { join } from 'node:path'
import { startGateway } from '../support/gateway.ts'
import { projectFolder, startProgram } from '../support/program.ts'
import { startKeyProxy } from './key-proxy.ts'
import { conformanceTools } from './tool-pack.ts'

const gateway = await startGateway({
  moreTools: conformanceTools,
  file: { limits: { tool_progress_interval_ms: 100 } },
})
const proxy = await startKeyProxy(gateway.url, gateway.testKey)
const script =
  process.env['CONFORMANCE_SCRIPT'] ??
  join(projectFolder, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
const more = process.argv.slice(2)
const target = ['server', '--url', `${proxy.url}/mcp`]
const words = [
  ...target,
  ...(more.length > 0
    ? more
    : ['--expected-failures', join(import.meta.dirname, 'expected-failures.yaml')]),
]
const suite = startProgram(process.execPath, [script, ...words], { folder: projectFolder })
const { code, stdout, stderr } = await suite.ended
process.stdout.write(stdout)
process.stderr.write(stderr)
await proxy.stop()
await gateway.stop()
process.exitCode = code ?? 1
