import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { createCommits, type Statement } from '../../src/storage/sqlite-file.ts'
import { makeFolder } from '../support/folder.ts'

const insert: readonly Statement[] = [{ sql: 'insert into rows values (1)', parameters: [] }]

describe('commits on the event loop', () => {
  it('wait for a commit of the thread that follows the checkpoint', async () => {
    const folder = makeFolder()
    const path = join(folder.path, 'a.db')
    const other = new DatabaseSync(path)
    other.exec('PRAGMA journal_mode = WAL; create table rows (value integer)')
    const inThread: (() => void)[] = []
    const checkpoints: number[] = []
    const commits = createCommits(
      { path, durability: 'normal', busyTimeoutMs: 0 },
      {
        commit: () => new Promise((resolve) => inThread.push(() => resolve([1]))),
        checkpoint: async () => void checkpoints.push(1),
      },
    )
    other.exec('begin immediate')
    const locked = commits.commit(insert)
    other.exec('commit')
    expect(inThread).to.have.length(1)
    while (checkpoints.length === 0) await commits.commit(insert)
    const after = commits.commit(insert)
    expect(inThread).to.have.length(2)
    // The end of a commit that was sent before the checkpoint does not prove that the checkpoint is done.
    inThread[0]!()
    await locked
    const further = commits.commit(insert)
    expect(inThread).to.have.length(3)
    inThread[1]!()
    await after
    await commits.commit(insert)
    expect(inThread).to.have.length(3)
    inThread[2]!()
    await further
    commits.close()
    other.close()
    folder.remove()
  })
})
