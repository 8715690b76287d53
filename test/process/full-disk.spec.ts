import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { chanceFrom } from '../support/chance.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { readLedger } from '../support/ledger-file.ts'
import { startLoad, type Acknowledged } from '../support/load.ts'
import { printedKey, startServer, type ServerProcess } from '../support/server-process.ts'
import { until } from '../support/until.ts'

const seed = 20_261_122
const rounds = 3
const callers = 8
const diskMiB = 12

/** Fills a disk to its last byte; the returned function frees the space again. */
function fill(disk: string): () => void {
  const path = join(disk, 'filler')
  const file = openSync(path, 'w')
  for (let bytes = 1 << 20; bytes >= 1;) {
    try {
      writeSync(file, Buffer.alloc(bytes))
    } catch {
      bytes >>= 1
    }
  }
  closeSync(file)
  return () => rmSync(path)
}

/** These tests need the permission to mount a small tmpfs. */
describe('a server whose disk is full', () => {
  const chance = chanceFrom(seed)
  const acknowledged: Acknowledged[] = []
  const started: string[] = []
  let folder: TemporaryFolder
  let disk: string
  let dataDir: string
  let isMounted = false
  let server: ServerProcess | undefined
  before(async function () {
    folder = makeFolder()
    disk = join(folder.path, 'disk')
    dataDir = join(disk, 'data')
    mkdirSync(disk)
    const words = ['-t', 'tmpfs', '-o', `size=${diskMiB}m`, 'tmpfs', disk]
    isMounted = spawnSync('mount', words).status === 0
    if (!isMounted) return this.skip()
    let key: string | undefined
    for (let round = 0; round < rounds; round++) {
      server = await startServer({
        folder: folder.path,
        variables: { DATA_DIR: dataDir, LOG_LEVEL: 'error' },
      })
      key ??= printedKey(server)
      acknowledged.push(...(await fillUnderLoad(server, key!)))
    }
    server = await startServer({ folder: folder.path, variables: { DATA_DIR: dataDir } })
    const { url } = server
    await until('the server is ready', async () => (await fetch(`${url}/ready`)).status === 200)
    server.kill('SIGTERM')
    await server.ended
  })
  after(async () => {
    server?.kill('SIGKILL')
    await server?.ended
    if (isMounted) spawnSync('umount', [disk])
    folder.remove()
  })

  /** Fills the disk under load, and kills the server while the disk is full or after it is freed. */
  async function fillUnderLoad(running: ServerProcess, key: string): Promise<Acknowledged[]> {
    const refused = Promise.withResolvers<void>()
    let free: (() => void) | undefined
    const load = startLoad({
      url: running.url,
      key,
      callers,
      chance,
      onAnswer: (count) => {
        if (count === 20) free = fill(disk)
        if (load.acknowledged.at(-1)?.status === 503) refused.resolve()
      },
    })
    await Promise.race([refused.promise, load.over])
    expect((await fetch(`${running.url}/ready`)).status).to.equal(503)
    expect((await fetch(`${running.url}/health`)).status).to.equal(200)
    const isFreedFirst = chance.below(2) === 0
    started.push(isFreedFirst ? 'freed' : 'killed')
    if (isFreedFirst) {
      free?.()
      await until(
        'the server is ready',
        async () => (await fetch(`${running.url}/ready`)).status === 200,
      )
    }
    running.kill('SIGKILL')
    await Promise.all([running.ended, load.over])
    if (!isFreedFirst) free?.()
    return load.acknowledged
  }

  it('has exactly one row for every completed answer, and none for refused calls', () => {
    const { rows, integrity } = readLedger(dataDir)
    const count = new Map<string, number>()
    for (const { id } of rows) count.set(id, (count.get(id) ?? 0) + 1)
    const answered = acknowledged.filter(({ status }) => status !== 503)
    const refused = acknowledged.filter(({ status }) => status === 503)
    const lost = answered.filter(({ requestId }) => !count.has(requestId))
    const doubled = [...count.values()].filter((times) => times > 1)
    process.stdout.write(
      `      ${answered.length} answered, ${refused.length} refused, ${rows.length} rows, ` +
        `${lost.length} lost, ${doubled.length} doubled (${started.join(', ')}; seed ${seed})\n`,
    )
    expect(integrity).to.equal('ok')
    expect(lost).to.deep.equal([])
    expect(doubled).to.deep.equal([])
    expect(refused.filter(({ requestId }) => count.has(requestId))).to.deep.equal([])
    expect(refused).to.have.length.above(0)
  })
})
