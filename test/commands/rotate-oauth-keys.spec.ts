import { expect } from 'chai'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { runCommand } from '../support/command-line.ts'
import { openTestStore } from '../support/store.ts'

describe('the command oauth rotate-keys', () => {
  let folder: TemporaryFolder
  beforeEach(() => (folder = makeFolder()))
  afterEach(() => folder.remove())

  it('stores new keys, and writes an audit event', async () => {
    const { code, stdout } = await runCommand(['oauth', 'rotate-keys'], { DATA_DIR: folder.path })
    expect([code, stdout]).to.deep.equal([
      0,
      'Created new OAuth keys. Running gateways sign with them in five minutes, and accept older signatures for a day.\n',
    ])
    const store = await openTestStore(folder.path)
    const events = await store.db.selectFrom('audit_events').select(['action', 'by']).execute()
    const rows = await store.db.selectFrom('gateway_secrets').select('id').execute()
    await store.close()
    expect(events).to.deep.include({ action: 'oauth_keys.rotate', by: 'command_line' })
    expect(rows.map(({ id }) => id)).to.include('oauth_keys_000001')
  })
})
