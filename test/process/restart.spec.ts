import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { stringify } from 'yaml'
import { freePort } from '../../scripts/free-port.ts'
import { startCallers } from '../support/lasting-callers.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { printedKey, startServer, type ServerProcess } from '../support/server-process.ts'
import { until } from '../support/until.ts'

describe('a restart under load', () => {
  let folder: TemporaryFolder
  const servers: ServerProcess[] = []
  before(() => (folder = makeFolder()))
  after(async () => {
    for (const server of servers) server.kill('SIGKILL')
    await Promise.all(servers.map(({ ended }) => ended))
    folder.remove()
  })

  it('fails no request, and refuses connections only while no port is open', async function () {
    const port = await freePort()
    const configFile = join(folder.path, 'gateway.yaml')
    const limits = { drain_notice_ms: 200, drain_quiet_ms: 500, requests_per_minute: 1_000_000 }
    writeFileSync(configFile, stringify({ limits }))
    const variables = { PORT: String(port), CONFIG_FILE: configFile, LOG_LEVEL: 'silent' }
    const start = async () => {
      const server = await startServer({ folder: folder.path, variables })
      servers.push(server)
      return server
    }
    const first = await start()
    const load = startCallers(first.url, printedKey(first)!)
    const { outcomes } = load
    const answered = () => outcomes.get('200') ?? 0
    await until('calls are answered', () => answered() > 300)
    first.kill('SIGTERM')
    const asked = answered()
    await until('the port is closed', () => outcomes.has('ECONNREFUSED'))
    expect(answered(), 'answers after the signal').to.be.greaterThan(asked)
    // Starts the second server while the first server still drains.
    await start()
    const before = answered()
    await until('calls are answered again', () => answered() > before + 300)
    await load.stop()
    const { code } = await first.ended
    expect(code).to.equal(0)
    expect([...outcomes.keys()].toSorted()).to.deep.equal(['200', 'ECONNREFUSED'])
  })
})
