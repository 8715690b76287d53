import { expect } from 'chai'
import { freePort } from '../../scripts/free-port.ts'
import { digestOf } from '../../src/accounts/api-key.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { runProgram } from '../support/program.ts'
import { startServer } from '../support/server-process.ts'
import { programPath } from '../support/program-path.ts'
import { openTestStore } from '../support/store.ts'
import { workerVariables } from '../support/worker-processes.ts'

describe('the command setup-link', () => {
  let folder: TemporaryFolder
  beforeEach(() => {
    folder = makeFolder()
  })
  afterEach(() => folder.remove())

  it('prints a link before the gateway has ever started', async () => {
    const { code, stdout } = await runProgram('src/command-line.ts', ['setup-link', '--json'], {
      folder: folder.path,
      variables: { DATA_DIR: folder.path },
    })
    expect(code).to.equal(0)
    const { token } = JSON.parse(stdout) as { token: string }
    const store = await openTestStore(folder.path)
    const links = await store.db.selectFrom('setup_links').select('digest').execute()
    const accounts = await store.db.selectFrom('accounts').select('is_operator').execute()
    await store.close()
    expect(links).to.deep.equal([{ digest: digestOf(token) }])
    expect(accounts).to.deep.equal([{ is_operator: 1 }])
  })

  for (const [name, more] of [
    ['that it names in BASE_URL', () => ({ BASE_URL: 'https://gateway.example' })],
    ['of its workers', workerVariables],
  ] as const) {
    it(`prints the address of the gateway that has DATA_DIR, ${name}`, async function () {
      if (more === workerVariables) programPath('redis-server', this)
      const variables = { DATA_DIR: folder.path, PORT: String(await freePort()), ...(await more()) }
      const server = await startServer({ folder: folder.path, variables })
      const { stdout } = await runProgram('src/command-line.ts', ['setup-link'], {
        folder: folder.path,
        variables: { DATA_DIR: folder.path },
      })
      server.kill('SIGTERM')
      await server.ended
      expect(stdout).to.include(`once: ${server.url}/dashboard/setup#token=`)
    })
  }
})
