import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { changeFolder, serveFolder, useFolder } from '../../src/storage/folder-lock.ts'
import { StoreError } from '../../src/storage/store-error.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openTestStore } from '../support/store.ts'

describe('the lock of a folder', () => {
  let folder: TemporaryFolder
  beforeEach(() => (folder = makeFolder()))
  afterEach(() => folder.remove())

  const serve = (waitMs = 0, notices: string[] = []) =>
    serveFolder({ dataDir: folder.path, waitMs, onWait: (text) => notices.push(text) })
  const refusal = async (attempt: Promise<unknown>) => {
    const error = await attempt.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(error).to.be.instanceOf(StoreError)
    return (error as StoreError).message
  }

  it('lets many processes use it and one serve', async () => {
    const users = [await useFolder(folder.path), await useFolder(folder.path)]
    const serving = await serve()
    users.push(await useFolder(folder.path))
    const notices: string[] = []
    const message = await refusal(serve(0, notices))
    expect(message).to.match(
      new RegExp(
        `^DATA_DIR: ${folder.path} is in use: a running gateway uses it \\(process ${process.pid} on .+, since 20.+\\)\\. Stop that gateway, or set DATA_DIR to another folder\\. .*WORKERS`,
      ),
    )
    expect(notices).to.have.length(1)
    serving.release()
    const next = await serve()
    for (const lock of [...users, next]) lock.release()
  })

  it('waits for a gateway that stops in time, and prints one notice', async () => {
    const serving = await serve()
    setTimeout(serving.release, 120)
    const notices: string[] = []
    const next = await serve(10_000, notices)
    expect(notices).to.have.length(1)
    expect(notices[0]).to.include(`process ${process.pid} on `)
    // A second release by the first holder does not release the lock of the second holder.
    serving.release()
    await refusal(serve())
    next.release()
  })

  it('is exclusive for a change, which needs an unused store', async () => {
    const store = await openTestStore(folder.path)
    expect(await refusal(changeFolder(folder.path, 'restore'))).to.include(
      'a command or a gateway that is stopping has its store open. Try again',
    )
    const serving = await serve()
    expect(await refusal(changeFolder(folder.path, 'restore'))).to.match(
      /a running gateway uses it \(process .*\)\. Stop it first\.$/,
    )
    serving.release()
    await store.close()
    const lock = await changeFolder(folder.path, 'restore')
    const attempts = [
      () => openTestStore(folder.path),
      serve,
      () => changeFolder(folder.path, 'import'),
    ]
    for (const attempt of attempts)
      expect(await refusal(attempt())).to.include('a backup is being restored into it (process ')
    lock.release()
    await (await openTestStore(folder.path)).close()
  })

  it('is an empty file of mode 0600, and its holder file is removed at the end', async () => {
    const serving = await serve()
    expect(readdirSync(folder.path)).to.deep.equal(['gateway.holder', 'gateway.lock'])
    serving.release()
    expect(readdirSync(folder.path)).to.deep.equal(['gateway.lock'])
    const { size, mode } = statSync(join(folder.path, 'gateway.lock'))
    expect({ size, mode: mode & 0o777 }).to.deep.equal({ size: 0, mode: 0o600 })
  })

  it('reports a file that cannot be locked', async () => {
    writeFileSync(join(folder.path, 'gateway.lock'), 'x'.repeat(4096))
    const attempts = [
      () => useFolder(folder.path),
      serve,
      () => changeFolder(folder.path, 'import'),
    ]
    for (const attempt of attempts)
      expect(await refusal(attempt())).to.match(/gateway\.lock cannot be locked: .*\. .+\.$/)
  })
})
