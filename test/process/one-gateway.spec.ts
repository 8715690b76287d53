import { join } from 'node:path'
import { expect } from 'chai'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { runProgram } from '../support/program.ts'
import { startServer, type ServerProcess } from '../support/server-process.ts'

describe('two gateways with the same folder', () => {
  let folder: TemporaryFolder
  const servers: ServerProcess[] = []
  before(() => (folder = makeFolder()))
  after(async () => {
    for (const server of servers) server.kill('SIGKILL')
    await Promise.all(servers.map(({ ended }) => ended))
    folder.remove()
  })

  const variables = () => ({ DATA_DIR: join(folder.path, 'data'), LOG_LEVEL: 'warn', PORT: '0' })
  const start = async () => {
    const server = await startServer({ folder: folder.path, variables: variables() })
    servers.push(server)
    return server
  }

  it('are refused: the second names the first and exits; after kill -9 the next starts at once', async () => {
    const first = await start()
    const second = await runProgram('src/main.ts', [], {
      folder: folder.path,
      variables: variables(),
    })
    expect(second).to.include({ code: 1, stdout: '' })
    expect(second.stderr).to.match(
      new RegExp(
        `Waiting up to 10000 ms for DATA_DIR [^\\n]*process ${first.processId} on [^\\n]*\\nThe gateway cannot start: DATA_DIR: [^\\n]* is in use: [^\\n]*process ${first.processId} on [^\\n]*\\n$`,
      ),
    )
    first.kill('SIGKILL')
    await first.ended
    const next = await start()
    expect(next.stderr()).to.equal('')
    const waiting = start()
    next.kill('SIGTERM')
    expect((await next.ended).code).to.equal(0)
    expect((await fetch(`${(await waiting).url}/ready`)).status).to.equal(200)
  })
})
