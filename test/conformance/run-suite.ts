import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { makeFolder, projectFolder } from '../support/folder.ts'
import { startGateway } from '../support/gateway.ts'
import { startProgram } from '../support/program.ts'
import { startKeyProxy } from './key-proxy.ts'
import { conformanceTools } from './tool-pack.ts'

/** The MCP revisions that the public conformance suite supports. */
export const revisions = ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28']

type Group = { reason: string; revisions?: string[]; alone?: true; entries: string[] }
type Options = {
  revision: string
  /** Whether the server has the suite's own test tools in addition to the product's tools. */
  withTools: boolean
}

/** Runs all scenarios of a revision; `code` is 0 if exactly the expected scenarios fail. */
export async function runSuite({ revision, withTools }: Options) {
  const text = await readFile(join(import.meta.dirname, 'expected-failures.yaml'), 'utf8')
  const groups = (parse(text) as Group[]).filter(
    (group) =>
      (group.revisions ?? [revision]).includes(revision) && !(withTools && group.alone === true),
  )
  const folder = makeFolder()
  const expected = join(folder.path, 'expected-failures.yaml')
  await writeFile(expected, stringify({ server: groups.flatMap(({ entries }) => entries) }))
  const args = ['--suite', 'all', '--spec-version', revision, '--expected-failures', expected]
  return callSuite(args, withTools).finally(folder.remove)
}

/** Runs the suite with these arguments against a gateway, through a proxy that adds the key. */
export async function callSuite(args: readonly string[], withTools: boolean) {
  const gateway = await startGateway({
    ...(withTools ? { moreTools: conformanceTools } : {}),
    bounds: { toolProgressIntervalMs: 100 },
  })
  const proxy = await startKeyProxy(gateway.url, gateway.testKey)
  const script =
    process.env['CONFORMANCE_SCRIPT'] ??
    join(projectFolder, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
  const target = ['server', '--url', `${proxy.url}/mcp`]
  const suite = startProgram(process.execPath, [script, ...target, ...args], {
    folder: projectFolder,
  })
  const { code, stdout, stderr } = await suite.ended
  await proxy.stop()
  await gateway.stop()
  return { code, output: stdout + stderr }
}
