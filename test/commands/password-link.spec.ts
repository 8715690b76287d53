import { expect } from 'chai'
import { digestOf } from '../../src/accounts/api-key.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { accountsOf } from '../support/keys.ts'
import { runCommand } from '../support/command-line.ts'
import { openTestStore } from '../support/store.ts'

const person = {
  id: 'usr_1',
  email: 'ada@example.com',
  name: 'Ada',
  password_hash: '',
  created_at: 0,
}

describe('the command people password-link', () => {
  let folder: TemporaryFolder
  beforeEach(async () => {
    folder = makeFolder()
    const store = await openTestStore(folder.path)
    const { id } = await accountsOf(store, Date.now).accounts.first()
    await store.db.insertInto('people').values(person).execute()
    const member = { account_id: id, person_id: person.id, role: 'owner', joined_at: 0 } as const
    await store.db.insertInto('members').values(member).execute()
    await store.close()
  })
  afterEach(() => folder.remove())

  const run = (words: string[]) =>
    runCommand(['people', 'password-link', ...words], { DATA_DIR: folder.path })

  it('prints a link for a person, whose digest is stored', async () => {
    const { code, stdout } = await run(['ADA@example.com'])
    expect(code).to.equal(0)
    const [, token = ''] = /\/dashboard\/password#token=([\w-]+)/.exec(stdout)!
    const store = await openTestStore(folder.path)
    const links = await store.db
      .selectFrom('password_links')
      .select(['digest', 'person_id'])
      .execute()
    await store.close()
    expect(links).to.deep.equal([{ digest: digestOf(token), person_id: person.id }])
  })

  it('reports wrong arguments', async () => {
    const unknown = await run(['nobody@example.com'])
    expect(unknown.code).to.equal(2)
    expect(unknown.stderr).to.contain('No person has this e-mail.')
    expect((await run([])).stderr).to.contain('The e-mail address is missing')
  })
})
