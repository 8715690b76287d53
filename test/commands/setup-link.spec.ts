import { expect } from 'chai'
import { digestOf } from '../../src/accounts/api-key.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { runCommand } from '../support/command-line.ts'
import { openTestStore } from '../support/store.ts'

describe('the command setup-link', () => {
  let folder: TemporaryFolder
  beforeEach(() => {
    folder = makeFolder()
  })
  afterEach(() => folder.remove())

  it('prints a link before the gateway has ever started', async () => {
    const { code, stdout } = await runCommand(['setup-link', '--json'], { DATA_DIR: folder.path })
    expect(code).to.equal(0)
    const { token } = JSON.parse(stdout) as { token: string }
    const store = await openTestStore(folder.path)
    const links = await store.db.selectFrom('setup_links').select('digest').execute()
    const accounts = await store.db.selectFrom('accounts').select('is_operator').execute()
    await store.close()
    expect(links).to.deep.equal([{ digest: digestOf(token) }])
    expect(accounts).to.deep.equal([{ is_operator: 1 }])
  })
})
